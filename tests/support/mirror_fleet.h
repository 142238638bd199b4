#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/members.h"
#include "distlock/stores.h"
#include "stores/memory/memory_store.h"
#include "support/faulty_store.h"
#include "support/manual_clock.h"
#include "support/wall_timed_store.h"

namespace distlock::testing {

/// One process of a fleet on a mirrored store: its own handle on each member, which can be made to
/// fail, and a pinger that pings when the test says so.
struct MirrorProcess {
  std::vector<std::shared_ptr<FaultyStore>> members;
  std::shared_ptr<Store> store;
  std::shared_ptr<DistributedLockPinger> pinger;

  std::unique_ptr<DistributedLock> lock(const std::string& name,
                                        const LockOptions& options = {}) const {
    return std::make_unique<DistributedLock>(pinger, name, options);
  }
  MemberState::Condition condition(std::size_t member) const {
    return store->members()->states()[member].condition;
  }

  /// No call of this process reaches that member any more, or each does again.
  void set_away(std::size_t member, bool away) const {
    FaultyStore& store_of_member = *members[member];
    if (!away) return store_of_member.during_each_call({});
    store_of_member.during_each_call([](const std::string& call) {
      throw Error(Errc::not_applied, call + ": the member is away");
    });
  }
};

/// Processes that share the members of a mirrored store, memory stores, and one clock. Calls of
/// members are made one after the other.
class MirrorFleet {
 public:
  explicit MirrorFleet(std::size_t members = 3) {
    for (std::size_t i = 0; i < members; ++i) {
      clocks.push_back(std::make_shared<SteppedClock>(clock));
      stores.push_back(open_memory_store(clocks.back(), {}));
    }
  }

  MirrorProcess process(const std::string& name, const PingerOptions& options = {}) {
    return process_with(clock, name, options);
  }
  /// A process with a clock of its own.
  MirrorProcess process_with(const std::shared_ptr<Clock>& its_clock, const std::string& name,
                             const PingerOptions& options = {}) {
    MirrorProcess process;
    std::vector<std::shared_ptr<Store>> members;
    for (const OpenedMemoryStore& opened : stores) {
      process.members.push_back(clocks_can_step ? std::make_shared<WallTimedStore>(opened.store)
                                                : std::make_shared<FaultyStore>(opened.store));
      members.push_back(process.members.back());
    }
    const auto random = [state = std::hash<std::string>{}(name)]() mutable -> std::uint64_t {
      return state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    };
    process.store = make_mirrored_store(members, its_clock, {MirrorDrive::caller, random});
    const Environment environment{
        .store = process.store, .clock = its_clock, .process = name, .random = random};
    process.pinger =
        std::make_shared<DistributedLockPinger>(environment, options, PingerDrive::caller);
    return process;
  }

  /// Whom each member names as the holder; nothing: nobody, or no document.
  std::vector<std::string> holders(const std::string& name) {
    std::vector<std::string> names;
    for (const OpenedMemoryStore& opened : stores) {
      const auto lock = opened.store->inspect(name, Freshness::fresh).lock;
      names.push_back(lock && lock->taken() ? lock->process : "");
    }
    return names;
  }
  Fence fence(std::size_t member, const std::string& name) {
    const auto lock = stores[member].store->inspect(name, Freshness::fresh).lock;
    return lock ? lock->fence : 0;
  }
  /// Rounds of these processes, every half minute, for so long.
  void rounds(const std::vector<const MirrorProcess*>& processes,
              std::chrono::milliseconds during) {
    constexpr std::chrono::milliseconds kPause{30000};
    for (auto left = during; left > std::chrono::milliseconds{0}; left -= kPause) {
      clock->advance(std::min(left, kPause));
      for (const MirrorProcess* process : processes) process->pinger->ping_round();
    }
  }
  /// Lets the time pass in which claims of a founder may come, whose set lacks a majority (M6).
  void outlast_founders() {
    constexpr int kCallLimits = 2;
    constexpr int kCallsInOne = 4;
    clock->advance(kCallLimits * kCallsInOne * stores.front().store->call_limit());
  }
  void empty(std::size_t member) { stores[member].tables.clear(); }
  /// Processes that are made from now on name a new store as the last member.
  void exchange_last() {
    stores.pop_back();
    stores.push_back(open_memory_store(clocks.back(), {}));
  }
  /// "jobs" is held on that member alone, by somebody who knows of no set.
  void put_taken(std::size_t member, const Token& ts = Token{{1}}) {
    Store& store = *stores[member].store;
    store.ping("eve");
    Claim claim{.process = "eve", .who = "eve:1", .why = "x", .ts = ts};
    claim.cutoff = store.list().now;
    store.claim("jobs", FromAbsent{}, claim).value();
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::vector<std::shared_ptr<SteppedClock>> clocks;  ///< Those of the members.
  /// The members' clocks are wall clocks, for processes made from now on.
  bool clocks_can_step = false;
  std::vector<OpenedMemoryStore> stores;
};

}  // namespace distlock::testing
