// A process has an id and a ping of its own, and threads that hold up no other process.
#include <unistd.h>

#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <set>

#include "pinger/identity.h"
#include "support/fleet.h"
#include "text.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

std::shared_ptr<DistributedLockPinger> started_by(const Fleet& fleet) {
  return std::make_shared<DistributedLockPinger>(
      Environment{.store = fleet.store, .clock = fleet.clock}, PingerOptions{},
      PingerDrive::caller);
}

}  // namespace

TEST_CASE("a process that starts anew on its host is another one", "[pinger][R1][R3]") {
  Fleet fleet;
  const auto before = started_by(fleet);
  DistributedLock held(before, "balancer");
  REQUIRE(held.lock_try("x"));

  const auto after = started_by(fleet);
  CHECK(after->process() != before->process());
  DistributedLock lock(after, "balancer");
  CHECK_FALSE(lock.lock_try("y"));
  CHECK(lock.unlock() == UnlockResult::not_ours);
  after->ping_round();
  after->stop();
  CHECK(fleet.stored("balancer").taken());
  CHECK(held.still_held());
}

TEST_CASE("a hold says which process it is of, and whose", "[pinger]") {
  Fleet fleet;
  DistributedLock lock(started_by(fleet), "balancer");
  REQUIRE(lock.lock_try("x"));
  const std::string who = fleet.stored("balancer").who;
  CHECK_THAT(who, Catch::StartsWith(fleet.stored("balancer").process + ":thread") &&
                      Catch::Contains("/pid" + std::to_string(getpid()) + "/"));
  // A process that was named by its maker is whatever that says, also nothing.
  const auto named = fleet.process("db7").lock("jobs");
  REQUIRE(named->lock_try("x"));
  CHECK_THAT(fleet.stored("jobs").who, !Catch::Contains("pid"));
}

TEST_CASE("processes that come and go leave no ping and no hold", "[pinger][R12]") {
  const std::shared_ptr<Store> store = make_memory_store();
  for (int i = 0; i < 100; ++i) {
    DistributedLock lock(std::make_shared<DistributedLockPinger>(Environment{.store = store}),
                         "balancer");
    REQUIRE(lock.lock_try("x"));
    CHECK(lock.fence() == i + 1);
  }
  CHECK(store->list().pings.empty());
  CHECK_FALSE(store->inspect("balancer", Freshness::fresh).lock->taken());
}

TEST_CASE("a ping that hangs does not delay the announcement of a loss",
          "[lifetime][R9][threads]") {
  // Before the pinger, whose thread is the last to leave it.
  boost::barrier told(3);
  std::atomic<bool> hanging{false};
  const auto store =
      std::make_shared<FaultyStore>(make_memory_store(host_clock(), {.call_limit = 300ms}));
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                              PingerOptions{.ping_every = 20ms});
  DistributedLock lock(pinger, "balancer", {.takeover_after = 3s});
  lock.on_lost([&](LossReason) { told.wait(); });
  REQUIRE(lock.lock_try("x"));
  // Goes on only once the loss was announced; the test's time-out is the bound.
  store->before("ping", [&] {
    hanging = true;
    told.wait();
  });
  while (!hanging) boost::this_thread::yield();
  told.wait();
  CHECK_FALSE(lock.held());
}

TEST_CASE("a process id has 64 random bits", "[pinger][R1]") {
  Fleet fleet;
  Environment environment{.store = fleet.store, .clock = fleet.clock};
  std::uint64_t number = 0;
  environment.random = [&] { return number; };
  std::set<std::string> ids{new_process(environment, "host")};
  for (int bit = 0; bit < 64; ++bit) {
    number = std::uint64_t{1} << bit;
    ids.insert(new_process(environment, "host"));
  }
  CHECK(ids.size() == 65);
}

TEST_CASE("a host's name of any bytes makes a process id that can be stored and shown",
          "[pinger][R14]") {
  Fleet fleet;
  const Environment environment = completed({.store = fleet.store, .clock = fleet.clock});
  const std::string id = new_process(environment, "caf\xe9\n");
  CHECK_THAT(id, Catch::StartsWith("caf\\xe9\\x0a:"));
  CHECK(is_utf8(id));
}

TEST_CASE("a process id that no lock's name could be is refused", "[pinger][R14]") {
  Fleet fleet;
  using namespace std::string_literals;
  const auto [process, problem] = GENERATE(table<std::string, std::string>(
      {{"caf\xe9", "process id \"caf\\xe9\" is not UTF-8"},
       {"a\0b"s, "process id has a NUL byte"},
       {std::string(1001, 'x'), "process id has 1001 bytes: at most 1000 are allowed"}}));
  CHECK_THROWS_WITH(DistributedLockPinger({.store = fleet.store, .process = process}),
                    Catch::Contains(problem));
  CHECK_NOTHROW(DistributedLockPinger({.store = fleet.store, .process = std::string(1000, 'x')}, {},
                                      PingerDrive::caller));
}
