// The chores of a round, where little time is left or the process ends.
#include <catch2/catch.hpp>

#include "pinger/session.h"
#include "support/captured_log.h"
#include "support/fleet.h"
#include "support/mirror_fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* kStray = "took effect after it was given up";

/// A member that counts the looks at the locks of a test, and how fresh they had to be. A look may
/// be made to fail.
class Asked : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  Inspection inspect(std::string_view name, Freshness freshness) override {
    if (name == "jobs" || name == "other") ++(freshness == Freshness::fresh ? fresh : ordinary);
    if (fresh == failing) throw Error(Errc::not_applied, "inspect rejected by the test");
    return FaultyStore::inspect(name, freshness);
  }
  int fresh = 0;
  int ordinary = 0;
  int failing = -1;
};

/// A process on three such members, the last of which loses the documents of its locks.
struct Lacking {
  std::unique_ptr<DistributedLock> held(const std::string& name) {
    auto lock = std::make_unique<DistributedLock>(pinger, name);
    REQUIRE(lock->lock_try("x"));
    fleet.stores[2].tables.put_lock({{"_id", name}, {"state", std::int32_t{0}}});
    forget();
    return lock;
  }
  void forget() {
    for (const auto& member : members) {
      member->fresh = 0;
      member->ordinary = 0;
      member->forget_calls();
    }
  }

  MirrorFleet fleet;
  std::vector<std::shared_ptr<Asked>> members{std::make_shared<Asked>(fleet.stores[0].store),
                                              std::make_shared<Asked>(fleet.stores[1].store),
                                              std::make_shared<Asked>(fleet.stores[2].store)};
  std::function<std::uint64_t()> random = [state = std::uint64_t{5}]() mutable {
    return state += 77777;
  };
  std::shared_ptr<Store> store = make_mirrored_store({members[0], members[1], members[2]},
                                                     fleet.clock, {MirrorDrive::caller, random});
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = fleet.clock, .process = "ann", .random = random},
      PingerOptions{}, PingerDrive::caller);
};

}  // namespace

TEST_CASE("a stray hold is logged once, and one that became pending meanwhile is not",
          "[log][unknown_outcome][R8]") {
  Fleet fleet;
  const auto store = std::make_shared<FaultyStore>(fleet.store);
  Session session({.store = store, .clock = fleet.clock, .process = "a"}, {}, PingerDrive::caller);
  fleet.put_stray("a", "jobs", Token{{9}});
  Captured log;
  SECTION("logged") {
    store->fail("release", Fault::rejected);
    session.round();
    session.round();
    CHECK(log.count(severity_level::warning, kStray) == 1);
  }
  SECTION("pending") {
    store->before("carried", [&] { session.pending.add("jobs", Token{{9}}); });
    session.round();
    CHECK(log.count(severity_level::warning, kStray) == 0);
  }
  CHECK_FALSE(fleet.stored("jobs").taken());
}

TEST_CASE("a stop after quick releases frees all that was undone, and logs it",
          "[log][unlock][R3][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  REQUIRE(a.store->quick_releases == 1);
  fleet.put_stray("a", "one", Token{{8}});
  fleet.put_stray("a", "two", Token{{9}});
  Captured log;
  a.store->before("holds", [&] { fleet.clock->advance(5s); });
  a.store->after("release", [&] { fleet.clock->advance(5s); });
  a.pinger->stop();
  CHECK_FALSE(fleet.stored("one").taken());
  CHECK_FALSE(fleet.stored("two").taken());
  CHECK(log.count(severity_level::warning, kStray) == 2);
  CHECK(fleet.store->list().pings.empty());
}

TEST_CASE("a stop takes no pending release for a stray hold", "[log][unlock][R3][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  REQUIRE(lock->lock_try("y"));
  a.store->fail("release", Fault::rejected, 100);
  REQUIRE(lock->unlock() == UnlockResult::pending);
  Captured log;
  a.pinger->stop();
  CHECK(a.store->calls("holds") == 1);
  CHECK(log.count(severity_level::warning, kStray) == 0);
}

TEST_CASE("the round after one that had time for all chores begins with the look for losses",
          "[pinger][R9][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 100);
  REQUIRE(lock->unlock() == UnlockResult::pending);
  a.store->before("holds", [&] { fleet.clock->advance(1min); });
  a.pinger->ping_round();
  a.pinger->ping_round();
  a.store->forget_calls();
  a.store->before("holds", [&] { fleet.clock->advance(1min); });
  a.pinger->ping_round();
  CHECK(a.store->calls("holds") == 1);
  CHECK(a.store->calls("release") == 0);
}

TEST_CASE("holds that a member lacks are looked at as time allows, and a list comes after them",
          "[mirrored][pinger][M5][R12]") {
  Lacking it;
  const auto jobs = it.held("jobs");
  const auto other = it.held("other");
  it.members[0]->during_each_call([&](const std::string&) { it.fleet.clock->advance(9s); });
  it.pinger->ping_round();
  CHECK(it.members[0]->calls("holds") == 1);
  CHECK(it.members[0]->fresh == 1);
  it.forget();
  it.pinger->ping_round();
  CHECK(it.members[0]->calls("holds") == 0);
  CHECK(it.members[0]->fresh >= 1);
  it.members[0]->during_each_call({});
}

TEST_CASE("a hold that a member lacks is looked at by fresh reads", "[mirrored][M5][M9]") {
  Lacking it;
  const auto lock = it.held("jobs");
  it.fleet.clock->advance(30s);
  it.pinger->ping_round();
  for (const auto& member : it.members) {
    CHECK(member->fresh == 2);  // To protect the hold no more, and to be given it again.
    CHECK(member->ordinary == 0);
  }
  CHECK(it.fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", "ann"});
}

TEST_CASE("a member that did not confirm the last ping is asked for no repair", "[mirrored][M9]") {
  Lacking it;
  const auto lock = it.held("jobs");
  it.members[2]->fail("ping", Fault::rejected);
  it.fleet.clock->advance(30s);
  it.pinger->ping_round();
  CHECK(it.members[0]->fresh == 1);  // By the list alone.
  CHECK(it.fleet.holders("jobs")[2].empty());
  it.fleet.clock->advance(30s);
  it.pinger->ping_round();
  CHECK(it.fleet.holders("jobs")[2] == "ann");
}

TEST_CASE("a repair that is not granted is not logged, and made again", "[log][mirrored][M9]") {
  Lacking it;
  const auto lock = it.held("jobs");
  it.members[2]->fail("claim", Fault::rejected);
  Captured log;
  it.fleet.clock->advance(30s);
  it.pinger->ping_round();
  CHECK(log.count(severity_level::info, "hold of \"jobs\" written to") == 0);
  it.fleet.clock->advance(30s);
  it.pinger->ping_round();
  CHECK(log.count(severity_level::info, "written to 1 member that lacked it") == 1);
}

TEST_CASE("a repair whose look fails is made in a later round", "[mirrored][M9]") {
  Lacking it;
  const auto lock = it.held("jobs");
  for (const auto& member : it.members) member->failing = 2;
  it.fleet.clock->advance(30s);
  it.pinger->ping_round();
  CHECK(it.fleet.holders("jobs")[2].empty());
  for (const auto& member : it.members) member->failing = -1;
  it.fleet.clock->advance(30s);
  it.pinger->ping_round();
  CHECK(it.fleet.holders("jobs")[2] == "ann");
  CHECK(lock->held());
}

TEST_CASE("a member that could never have a hold is asked again once it was away",
          "[mirrored][M9]") {
  Lacking it;
  const auto lock = it.held("jobs");
  const auto put_free = [&](Fence fence) {
    it.fleet.stores[2].tables.put_lock(
        {{"_id", "jobs"}, {"state", std::int32_t{0}}, {"fence", fence}});
  };
  const auto next_round = [&] {
    it.fleet.clock->advance(30s);
    it.pinger->ping_round();
  };
  put_free(100);
  next_round();
  CHECK(it.fleet.holders("jobs")[2].empty());
  it.members[2]->fail("ping", Fault::rejected);
  next_round();
  put_free(0);
  next_round();
  CHECK(it.fleet.holders("jobs")[2] == "ann");
}

TEST_CASE("on a slow store a repair is claimed in the round after its look",
          "[mirrored][M9][R12]") {
  Lacking it;
  const auto lock = it.held("jobs");
  it.members[0]->during_each_call([&](const std::string&) { it.fleet.clock->advance(11s); });
  for (int i = 0; i < 10 && it.fleet.holders("jobs")[2].empty(); ++i) {
    it.forget();
    it.pinger->ping_round();
    const bool looked = it.members[0]->fresh > 0;
    const bool claimed = it.members[2]->calls("claim") > 0;
    CHECK_FALSE((looked && claimed));
  }
  CHECK(it.fleet.holders("jobs")[2] == "ann");
  it.members[0]->during_each_call({});
}

TEST_CASE("a member that has not granted a repair protects nothing by another's grant",
          "[mirrored][M5][M9]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  for (const std::size_t lost : {3U, 4U}) {
    fleet.stores[lost].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::int32_t{0}}});
  }
  ann.members[4]->fail("claim", Fault::rejected, 1000);
  fleet.rounds({&ann}, 60s);
  REQUIRE(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", "ann", "ann", ""});
  ann.set_away(0, true);
  ann.set_away(1, true);
  fleet.rounds({&ann}, 20min);
  CHECK_FALSE(lock->held());
}

TEST_CASE("a repair moves no deadline by a member that refused it", "[mirrored][M5][M9]") {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  for (const std::size_t lost : {3U, 4U}) {
    fleet.stores[lost].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::int32_t{0}}});
  }
  ann.set_away(1, true);
  ann.set_away(2, true);
  ann.members[4]->fail("claim", Fault::rejected, 1000);
  const SteadyTime until = lock->valid_until();
  for (int i = 0; i < 10 && fleet.holders("jobs")[3].empty(); ++i) fleet.rounds({&ann}, 30s);
  REQUIRE(fleet.holders("jobs")[3] == "ann");
  // Members 0 and 3 have fresh pings, and the third of five has the old one.
  CHECK(lock->valid_until() == until);
}

TEST_CASE("the log says which chore failed, and why", "[log][pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const bool at_the_list = GENERATE(true, false);
  a.store->fail(at_the_list ? "holds" : "forget_pings", Fault::rejected);
  Captured log;
  a.pinger->ping_round();
  const std::string failed = at_the_list ? "verifying holds failed: holds rejected"
                                         : "removing old pings failed: forget_pings rejected";
  CHECK(log.count(severity_level::warning, failed) == 1);
  CHECK(log.count(severity_level::warning, "") == 1);
}
