// A process with many holds that no part of it knows of, on a store that is not quick.
#include <catch2/catch.hpp>
#include <cstdint>
#include <set>

#include "distlock/error.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Notes each look at one hold, which fails where the name begins with `bad`. No release of `stuck`
/// is applied.
class Noting : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  std::optional<Carried> carried(std::string_view name) override {
    looks.emplace_back(name);
    auto carried = FaultyStore::carried(name);
    if (name.substr(0, 3) == "bad") throw Error(Errc::not_applied, "rejected by the test");
    return carried;
  }
  ReleaseResult release(std::string_view name, const Token& ts) override {
    if (name == "stuck") fail("release", Fault::rejected);
    return FaultyStore::release(name, ts);
  }
  std::vector<std::string> looks;
};

/// Pings every 2 s, and a call may take 1 s.
struct ManyStrays {
  ManyStrays() {
    fleet.store = make_memory_store(fleet.clock, {.call_limit = 1s});
    a = fleet.process_with(std::make_shared<Noting>(fleet.store), "a", {.ping_every = 2s});
  }

  void leave(const std::string& name, int number) {
    for (int i = 0; i < number; ++i) fleet.put_stray("a", name + std::to_string(i), {{9, ++left}});
  }
  void make_pending(const std::string& name) const {
    const auto lock = a.lock(name);
    REQUIRE(lock->lock_try("x"));
    if (name != "stuck") a.store->fail("release", Fault::rejected, 3);
    REQUIRE(lock->unlock() == UnlockResult::pending);
  }
  /// Each call takes so long.
  void rounds(int number, std::chrono::nanoseconds each = 100ms) {
    a.store->during_each_call([this, each](const std::string&) { fleet.clock->advance(each); });
    for (int i = 0; i < number; ++i) fleet.clock->wait_until(a.pinger->ping_round(), {});
    a.store->during_each_call({});
  }

  Fleet fleet;
  ProcessWith<Noting> a;
  std::uint8_t left = 0;
};

}  // namespace

TEST_CASE("a loss is told within a round, however many stray holds there are",
          "[pinger][R8][R9][R12]") {
  ManyStrays it;
  const auto jobs = it.a.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  it.leave("stray", 100);
  it.rounds(GENERATE(1, 2, 3));
  REQUIRE(it.fleet.store->holds("a").size() > 50);
  REQUIRE(it.fleet.store->release("jobs", *jobs->record().ts) == ReleaseResult::freed);
  it.rounds(1);
  CHECK(jobs->lost() == LossReason::freed);
  it.rounds(60);
  CHECK(it.fleet.store->holds("a").empty());
}

TEST_CASE("a new list puts no stray hold behind those that were looked at",
          "[pinger][unknown_outcome][R8][R12]") {
  ManyStrays it;
  it.leave("bad", 30);
  it.leave("late", 1);
  it.rounds(15);
  REQUIRE(it.a.store->looks.size() > 31 + 60);
  const auto turn = [&](int number) {
    const auto from = it.a.store->looks.begin() + 31 * number;
    return std::set<std::string>(from, from + (number == 0 ? 31 : 60));
  };
  CHECK(turn(0).size() == 31);
  // Those of one round come again in the order of the list.
  CHECK(turn(1).size() == 30);
  CHECK_FALSE(it.fleet.stored("late0").taken());
}

TEST_CASE("a stray hold that is gone is not looked at", "[pinger][unknown_outcome][R8][cost]") {
  ManyStrays it;
  it.leave("stray", 100);
  it.rounds(1);
  REQUIRE(it.a.store->looks.size() < 20);
  for (const StoredHold& hold : it.fleet.store->holds("a")) {
    REQUIRE(it.fleet.store->release(hold.name, hold.ts) == ReleaseResult::freed);
  }
  it.a.store->looks.clear();
  it.rounds(5);
  CHECK(it.a.store->looks.empty());
}

TEST_CASE("stray holds and pending releases take turns where a round has time for one call",
          "[pinger][unknown_outcome][R8][R12]") {
  ManyStrays it;
  it.make_pending("stuck");
  it.make_pending("freed");
  it.leave("bad", 3);
  it.leave("late", 1);
  it.rounds(40, 1s - 1ns);
  CHECK_FALSE(it.fleet.stored("freed").taken());
  CHECK_FALSE(it.fleet.stored("late0").taken());
  CHECK(it.a.store->calls("holds") > 10);
}
