// One look at all locks for all threads of a process that wait (R20, R22).
#include "pinger/overview.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <map>
#include <new>

#include "support/captured_log.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

struct OneProcess {
  OneProcess() { store->has_line = true; }

  Fleet fleet;
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(fleet.store);
  std::vector<deadlock::Hidden> behind;
  Overviews overviews{store, "a", [] { return [](const Token&) { return false; }; },
                      [](const Token&) { return std::nullopt; }, [this] { return behind; }};
  ManualClock& clock = *fleet.clock;
};

}  // namespace

TEST_CASE("a thread gets the look that another had, if it is not too old", "[deadlock][R20][R22]") {
  OneProcess process;
  const SteadyTime begun = process.clock.steady_now();
  const auto first = process.overviews.get(begun, process.clock);
  process.clock.advance(1s);
  CHECK(process.overviews.get(begun, process.clock) == first);
  CHECK(process.overviews.get(begun + 1ns, process.clock) != first);
  CHECK(process.store->calls("list_waits") == 2);
}

TEST_CASE("a look that nobody has any more is not kept", "[deadlock][R20][R22]") {
  OneProcess process;
  const SteadyTime begun = process.clock.steady_now();
  const std::weak_ptr<const Overview> seen = process.overviews.get(begun, process.clock);
  CHECK(seen.expired());
}

TEST_CASE("a store that fails is asked once for all threads", "[deadlock][R20][R22]") {
  OneProcess process;
  process.store->fail("list_waits", Fault::rejected);
  const SteadyTime begun = process.clock.steady_now();
  const auto nothing = process.overviews.get(begun, process.clock);
  CHECK_FALSE(nothing->now);
  CHECK(process.overviews.get(begun, process.clock) == nothing);
  CHECK(process.store->calls("list_waits") == 1);
}

TEST_CASE("the log tells once that looks for deadlocks go on to fail, and again after a good one",
          "[deadlock][R22]") {
  OneProcess process;
  Captured log;
  const auto told = [&] { return log.count(severity_level::warning, "can never end"); };
  for (const int times : {1, 2}) {
    process.store->fail("list_waits", Fault::rejected, 3);
    for (const int before : {1, 0, 0, 0}) {
      process.overviews.get(SteadyTime::max(), process.clock);
      CHECK(told() == times - before);
    }
  }
}

TEST_CASE("one thread of a process looks at a time, and those that come meanwhile do not wait",
          "[deadlock][R20][R22]") {
  OneProcess process;
  const SteadyTime begun = process.clock.steady_now();
  std::promise<void> looking;
  std::promise<void> go_on;
  process.store->before("list_waits", [&] {
    looking.set_value();
    go_on.get_future().wait();
  });
  std::shared_ptr<const Overview> first;
  boost::thread looks([&] { first = process.overviews.get(begun, process.clock); });
  looking.get_future().wait();
  CHECK(process.overviews.get(begun, process.clock) == nullptr);
  go_on.set_value();
  looks.join();
  CHECK(process.overviews.get(begun, process.clock) == first);
  CHECK(process.store->calls("list_waits") == 1);
}

TEST_CASE("a look knows what its process has given up or passed on, and nothing of others",
          "[deadlock][R21][R22]") {
  Fleet fleet;
  const auto claim = [&](const std::string& name, const std::string& process, std::uint8_t number) {
    REQUIRE(fleet.store->claim(name, FromAbsent{}, fleet.claim_by(process, Token{{number}})));
  };
  claim("given up", "a", 1);
  claim("passed on", "a", 2);
  claim("kept", "a", 3);
  claim("another's", "b", 1);
  claim("of another thread", "b", 2);
  claim("free", "a", 2);
  REQUIRE(fleet.store->release("free", Token{{2}}) == ReleaseResult::freed);
  for (const Token& ticket : {Token{{4}}, Token{{5}}}) {
    REQUIRE(fleet.store->line()->stand("kept", fleet.claim_by("a", ticket)).in_line);
    REQUIRE(fleet.store->line()->stand("another's", fleet.claim_by("c", ticket)).in_line);
  }
  Overviews overviews(
      fleet.store, "a",
      [] { return [](const Token& ts) { return ts == Token{{1}} || ts == Token{{5}}; }; },
      [](const Token& ts) {
        return ts == Token{{2}} ? std::optional<std::string>("a:thread7") : std::nullopt;
      },
      [] {
        return std::vector<deadlock::Hidden>{{"of another thread", {}}, {"free", {}}, {"free", {}}};
      });
  const auto seen = overviews.get(SteadyTime::min(), *fleet.clock);
  std::map<std::string, LockRecord> locks;
  for (const LockRecord& lock : seen->locks) locks[lock.name] = lock;
  REQUIRE(locks.size() == 6);
  CHECK_FALSE(locks["given up"].taken());
  CHECK(locks["passed on"].who == "a:thread7:0");
  CHECK(locks["kept"].taken());
  CHECK(locks["kept"].who == "a:1");
  REQUIRE(locks["kept"].line.size() == 1);
  CHECK(locks["kept"].line[0].ticket == Token{{4}});
  CHECK(locks["another's"].taken());
  CHECK(locks["another's"].line.size() == 2);
  CHECK(locks["of another thread"].who == "b:1");
  CHECK(locks["free"].who == "a:1");
}

TEST_CASE("a look says what time it is, how long it took, and which waits can never end",
          "[deadlock][R22]") {
  OneProcess process;
  Fleet& fleet = process.fleet;
  const auto deadlocked = [&](const std::string& has, const std::string& waits_for,
                              const std::string& who, std::uint8_t number) {
    REQUIRE(fleet.store->claim(has, FromAbsent{}, fleet.claim_by(who, Token{{number}})));
    fleet.store->ping(who, {});
    return [&fleet, waits_for, who, number] {
      const Claim claim = fleet.claim_by(who, Token{{number, 1}});
      REQUIRE(fleet.store->line()->stand(waits_for, claim).in_line);
    };
  };
  const auto first = deadlocked("one", "two", "b", 1);
  const auto second = deadlocked("two", "one", "c", 2);
  first();
  second();
  process.store->before("list_waits", [&] { process.clock.advance(3s); });
  const SteadyTime begun = process.clock.steady_now();
  const auto seen = process.overviews.get(begun, process.clock);
  CHECK(seen->begun == begun);
  CHECK(seen->had == begun + 3s);
  REQUIRE(seen->now);
  CHECK(seen->now->time == fleet.store->list().now.time);
  CHECK(seen->pings.size() == 2);
  CHECK(seen->cycles.size() == 1);
}

TEST_CASE("a look knows those behind others as they are once the store has answered",
          "[deadlock][R22]") {
  OneProcess process;
  Fleet& fleet = process.fleet;
  REQUIRE(fleet.store->claim("x", FromAbsent{}, fleet.claim_by("a", Token{{1}})));
  REQUIRE(fleet.store->line()->stand("x", fleet.claim_by("c", Token{{2}})).in_line);
  const deadlock::Hidden for_its_own{"x", {Token{{3}}, "a", "a:0", StoreTime::max(), {}}};
  const bool comes = GENERATE(true, false);
  if (!comes) process.behind = {for_its_own};
  process.store->before("list_waits", [&] {
    process.behind.clear();
    if (comes) process.behind = {for_its_own};
  });
  const auto seen = process.overviews.get(SteadyTime::min(), process.clock);
  CHECK(seen->cycles.size() == (comes ? 1 : 0));
}

TEST_CASE("a look that ends in another exception keeps no thread from the next",
          "[deadlock][R20][R22]") {
  OneProcess process;
  const SteadyTime begun = process.clock.steady_now();
  process.store->before("list_waits", [] { throw std::bad_alloc(); });
  CHECK_THROWS_AS(process.overviews.get(begun, process.clock), std::bad_alloc);
  const auto seen = process.overviews.get(begun, process.clock);
  REQUIRE(seen);
  CHECK(seen->now);
}
