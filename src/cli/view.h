#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/takeover.h"
#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/members.h"
#include "distlock/store.h"
#include "protocol/deadlock.h"

namespace distlock::cli {

struct LockView {
  std::string name;
  std::optional<LockRecord> record;
  std::string problem;  ///< Not empty exactly if there is no record; fit for a terminal.
  std::optional<PingRecord> ping;
  Takeover takeover;       ///< By the observer's window, or the holder's if that is larger.
  Takeover by_own_window;  ///< By the holder's, which its deadline counts on.
  /// When its deadline has passed for certain, by the holder's window. On a mirrored store it asks
  /// only members that carry the hold: nobody knows whether the holder counts on another one (M5).
  Takeover of_deadline;
  /// On a mirrored store the clock of the member that `ping` is of: the last of a majority that a
  /// contender can get.
  std::optional<StoreNow> now;
  bool named = true;  ///< False: `name` describes an `_id` that is no name.
};

struct PingView {
  std::string process;
  std::optional<PingRecord> record;
  std::string problem;
  std::int64_t holds = 0;
  bool named = true;                 ///< As of a lock.
  std::optional<StoreNow> now = {};  ///< As of a lock.
};

/// The content of `status` and `list`.
struct View {
  std::string store;            ///< The redacted connection string.
  std::optional<StoreNow> now;  ///< Missing if only a lock that nobody ever claimed was looked at.
  std::vector<LockView> locks;
  std::vector<PingView> pings;
  std::vector<deadlock::Cycle> deadlocks;  ///< Of a look at all locks (R22).
  std::vector<deadlock::Cycle> possible_deadlocks;
  std::vector<MemberState> members;  ///< Of a mirrored store; otherwise empty.
  /// Holds on fewer than a majority of these, beside the locks as they are shown. Each lists its
  /// members.
  std::vector<LockRecord> left_over;

  bool malformed() const;
};

struct Observer {
  Store& store;
  Clock& clock;
  const ConnectionString& connection;
  /// The contender's own. Nothing: the holder's, or the library's if it does not state one.
  std::optional<ContenderWindow> window;
};

/// How the members of a mirrored store fare; of another store nothing.
std::vector<MemberState> members_of(Store& store);

/// Everything in the store. Errors: those of Store::list().
View view_all(const Observer& observer);

/// One lock; a malformed document is its problem, not an error. `pings` has its holder's only if
/// that one is malformed. Errors: those of Store::inspect() and Store::list() otherwise.
View view_one(const Observer& observer, std::string_view name);

}  // namespace distlock::cli
