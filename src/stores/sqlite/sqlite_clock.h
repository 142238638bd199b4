#pragma once

#include <chrono>
#include <string>

#include "distlock/record.h"

namespace distlock {

// THE CLOCK OF A SQLITE STORE
//
// All who share a SQLite file share one kernel, and the kernel has a clock that no one can step:
// CLOCK_BOOTTIME counts since boot, also through suspend. So the store's time is
//
//     epoch + CLOCK_BOOTTIME,    epoch = wall clock - CLOCK_BOOTTIME, in milliseconds
//
// where the epoch is worked out once, by the first process that opens the file in this boot, and
// kept in the file's table `clocks` for all the others. It looks like the wall clock to people, but
// an administrator, NTP or libfaketime that steps the wall clock moves nobody's pings (R4, R5).
//
// Its name is the boot's id, for after a reboot it is another clock, and the time namespace's, for
// each of those has a CLOCK_BOOTTIME of its own. Pings of another name are judged by the rule for
// strange clocks.
//
// This is a store's clock, so it is read here and not through Clock.

/// The name of this process's CLOCK_BOOTTIME. Errors: `not_applied` if the kernel does not tell.
std::string boot_clock_name();

/// CLOCK_BOOTTIME.
std::chrono::milliseconds since_boot();

/// An epoch for a clock that has none yet: the wall clock less CLOCK_BOOTTIME.
std::chrono::milliseconds new_epoch();

}  // namespace distlock
