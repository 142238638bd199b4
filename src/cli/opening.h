#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <stop_token>

#include "cli/arguments.h"
#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/options.h"
#include "distlock/store.h"

namespace distlock::cli {

/// How long a store call of `run` may take. A call that hangs leaves time for other calls before
/// the deadline. It also leaves half an interval for the look after a ping, which notices a break.
StoreOptions calls_of(const RunArguments& arguments);

/// How long to wait for a store that is away: nothing is for ever.
struct OpeningWait {
  Clock& clock;
  std::stop_token stop;
  std::optional<std::chrono::milliseconds> most;
  std::chrono::milliseconds call_limit;  ///< Of the store.
};

using Open = std::function<std::shared_ptr<Store>(const StoreOptions&)>;

/// Errors: std::system_error where this process can open too few files for a store.
void check_room_for_files();

/// Calls `open` until it succeeds, as at boot, when the host is up before the store. Says once on
/// `err` that it waits. A call is limited to what is left of the wait; a store that answers then
/// is opened anew with its own limit. Gives null if a stop was requested.
/// Errors: that of the last call, when the time is over; any that waiting does not mend, at once.
/// std::system_error where this process can open too few files.
std::shared_ptr<Store> open_patiently(const Open& open, const OpeningWait& wait, std::ostream& err);

}  // namespace distlock::cli
