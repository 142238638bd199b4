#pragma once

#include <array>
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
// The first process that opens the file in a boot works the epoch out. It keeps it in the file's
// table `clocks` for all the others. It looks like the wall clock to people. But an administrator,
// NTP or libfaketime that steps the wall clock moves nobody's pings (R4, R5).
//
// Its name has two parts. The boot's id: after a reboot it is another clock. The shift of
// CLOCK_BOOTTIME in the process's time namespace: namespaces with the same shift have one clock.
// The number of a namespace would be no name, for the kernel gives it anew.
//
// Two clocks of one boot took their epochs from the wall clock at two instants, and containers may
// have differed in it by days: neither can tell the age of what the other stamped (R6). A clock of
// another boot is behind that boot's end, and so are those who pinged by it. A container whose
// manager gave it a boot id of its own looks like another boot, and lives. So the names of its
// clocks say so, and they are unrelated to all others.
//
// This is a store's clock, so it is read here and not through Clock.

/// A clock's name, what all names of its boot begin with, and what those of the clocks begin with
/// that run beside it (StoreNow::unrelated).
struct BootClock {
  std::string name;
  std::string boot;
  std::array<std::string, 2> unrelated;
};

/// This process's CLOCK_BOOTTIME. Where the kernel does not tell its shift, a name that nobody else
/// has. Errors: where the kernel does not tell the boot's id, `invalid_argument` if its file in
/// /proc is not there, `not_applied` if it cannot be read now.
BootClock boot_clock();

/// CLOCK_BOOTTIME.
std::chrono::milliseconds since_boot();

/// An epoch for a clock that has none yet: the wall clock less CLOCK_BOOTTIME.
std::chrono::milliseconds new_epoch();

}  // namespace distlock
