#pragma once

#include "support/original_tournament.h"

namespace distlock::testing {

/// As OriginalOnThree, with the tournament of a later mongos (2.4). Each server is grabbed by the
/// `ts` that it showed, and a second write by name ends the claim with `state: 2`. A release and a
/// takeover name the `ts`. A hold is taken over that a contender saw unchanged for the window; only
/// with `state: 2` do the holder's pings count as changes.
class LaterOnThree : public OriginalOnThree {
 public:
  using OriginalOnThree::OriginalOnThree;

  /// In place of lock_try, step 2: looks, and remembers since when nothing has changed.
  bool unchanged_for_the_window() {
    const auto ping = first_answering().raw_ping(text(seen_, "process"));
    Document shown{{"ts", *find_field(seen_, "ts")}};
    const bool ended_claim = state_in(seen_) == LockState::taken_by_mongodb;
    if (ended_claim && ping) shown.emplace_back("ping", *find_field(*ping, "ping"));
    if (shown != watched_) since_ = fleet_.clock->steady_now();
    watched_ = shown;
    return fleet_.clock->steady_now() - since_ > kTakeover;
  }
  /// In place of lock_try, step 2, "forcefully taking over": by `ts` and state.
  void force() {
    prepare();
    for (const std::size_t i : kThree) {
      send(i, [&](MemoryTables& tables) {
        const auto lock = tables.raw_lock(kLock);
        const bool same = lock && carries(*lock, *field_as<Token>(seen_, "ts")) &&
                          state_in(*lock) == state_in(seen_);
        return same && set_free(tables);
      });
    }
    seen_ = {};
  }
  /// In place of lock_try, step 5, on one server: takes it by its `ts` if that is less or the lock
  /// is free. The greatest `ts` counts.
  void grab_from(std::size_t server) {
    const auto lock = tables(server).raw_lock(kLock);
    const auto* shown = lock ? field_as<Token>(*lock, "ts") : nullptr;
    if (shown == nullptr || *shown < ts_ || state_in(*lock) == LockState::free) {
      send(server, [&](MemoryTables& tables) {
        auto taken = tables.raw_lock(kLock);
        if (!taken || (shown != nullptr && !carries(*taken, *shown))) return false;
        set_field(*taken, "ts", ts_);
        set_field(*taken, "state", std::int32_t{1});
        tables.put_lock(*taken);
        return true;
      });
    }
    read_from(server);
  }
  /// The second write, on one server. By name, whatever is there.
  void end_claim_on(std::size_t server) {
    matched_[server] = send(server, [&](MemoryTables& tables) {
      auto lock = tables.raw_lock(kLock);
      if (!lock) return false;
      write_wanted(*lock);
      set_field(*lock, "state", std::int32_t{2});
      tables.put_lock(*lock);
      return true;
    });
  }
  /// In place of unlock(), on one server: by `ts`.
  void release_on(std::size_t server) {
    matched_[server] = send(server, [&](MemoryTables& tables) {
      const auto lock = tables.raw_lock(kLock);
      return lock && carries(*lock, ts_) && set_free(tables);
    });
  }

 private:
  Document watched_;
  SteadyTime since_;
};

}  // namespace distlock::testing
