#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "cli/arguments.h"
#include "cli/open_apart.h"
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
  std::string store;  ///< For messages, without secrets.
  /// The rest of the wait for the lock, if that has an end. Where `most` is 0, the only opening
  /// ends with it.
  std::optional<std::chrono::milliseconds> of_lock = {};
};

/// Errors: std::system_error where this process can open too few files for a store.
void check_room_for_files();

/// Opens with open_apart() until that succeeds, as at boot, when the host is up before the store.
/// Says once on `err` that it waits. An opening that is under way when the time is over is left
/// behind, but the first one gets a second at least. Without a wait the only one gets all the time
/// that its calls take. Gives null if a stop was requested.
/// Errors: that of the last opening that has ended, when the time is over, or `not_applied`; any
/// that waiting does not mend, at once. std::system_error where this process can open too few
/// files.
std::shared_ptr<Store> open_patiently(const Open& open, const OpeningWait& wait, std::ostream& err);

/// The time since the first wait began, in however many stores.
using Waited = std::function<std::chrono::milliseconds()>;
/// Opens a store and waits there, and gives the status that the command ends with.
using WaitInStore = std::function<int(const Waited& waited)>;

/// A wait outlives its SQLite file: it goes on in the one that is there now, and says so on `err`.
/// All of it together takes `most`: nothing is for ever. Errors: those of `wait`; `store_replaced`
/// when the time is over.
int wait_in_what_is_there(const WaitInStore& wait, Clock& clock,
                          std::optional<std::chrono::milliseconds> most, std::ostream& err);

}  // namespace distlock::cli
