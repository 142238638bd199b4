// A lock made in one call from a connection string: what it derives, and whom it shares with.
#include <array>
#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <mutex>

#include "protocol/protocol.h"
#include "support/fleet.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

ConnectionString sqlite_in(const TemporaryFolder& folder) {
  return ConnectionString("sqlite:" + (folder.path() / "locks.db").string());
}

std::string process_of(DistributedLock& lock) {
  REQUIRE(lock.lock_try("x"));
  const std::string process = lock.record().process;
  REQUIRE(lock.unlock() == UnlockResult::released);
  return process;
}

}  // namespace

TEST_CASE("ping interval and call limit fit the lease", "[pinger][R9][R12]") {
  struct Row {
    std::chrono::milliseconds takeover_after, ping_every, call_limit;
  };
  const Row row = GENERATE(Row{16min, 30s, 10s}, Row{4min, 30s, 10s}, Row{80s, 10s, 10s},
                           Row{8s, 1s, 1s}, Row{100ms, 12ms, 12ms}, Row{1ms, 1ms, 1ms});
  CHECK(PingerOptions::fitting(row.takeover_after).ping_every == row.ping_every);
  CHECK(StoreOptions::fitting(row.takeover_after).call_limit == row.call_limit);
  CHECK(PingerOptions::fitting(row.takeover_after).forget_after == 96h);
}

TEST_CASE("a lease from 8 ms on leaves a holder room for its pings", "[pinger][R9]") {
  for (std::chrono::milliseconds lease = 8ms; lease < 87600h; lease += lease / 7 + 1ms) {
    INFO(lease.count() << " ms");
    const LockOptions options{.takeover_after = lease};
    CHECK_NOTHROW(protocol::check_room(options, PingerOptions::fitting(lease),
                                       StoreOptions::fitting(lease).call_limit));
  }
}

TEST_CASE("a lock with a short lease is made in one call", "[lock][pinger][R9]") {
  const TemporaryFolder folder;
  DistributedLock lock(sqlite_in(folder), "jobs", {.takeover_after = 10s});
  REQUIRE(lock.lock_try("x"));
  CHECK(lock.options().takeover_after == 10s);
  CHECK(lock.remaining() > 5s);
  CHECK(lock.remaining() < 10s);
}

TEST_CASE("locks of one string and one lease share a pinger", "[pinger][R12]") {
  const TemporaryFolder folder;
  const bool in_memory = GENERATE(true, false);
  const ConnectionString config = in_memory ? ConnectionString("memory:") : sqlite_in(folder);
  DistributedLock one(config, "one", {.takeover_after = 10s});
  DistributedLock two(config, "two", {.takeover_after = 10s});
  CHECK(process_of(one) == process_of(two));

  DistributedLock by_default(config, "three");
  DistributedLock by_minutes(config, "four", LockOptions::taking_over_after_minutes(15));
  CHECK(process_of(by_default) == process_of(by_minutes));
  CHECK(process_of(by_default) == DistributedLockPinger::got(config)->process());
  CHECK(process_of(by_default) != process_of(one));
}

TEST_CASE("locks that forget pings after different times have different pingers",
          "[pinger][R12][R13]") {
  const TemporaryFolder folder;
  const ConnectionString config = sqlite_in(folder);
  const auto usual = DistributedLockPinger::got(config);
  CHECK(DistributedLockPinger::got(config) == usual);
  CHECK(DistributedLockPinger::got(config, {.ping_every = 31s}) != usual);
  CHECK(DistributedLockPinger::got(config, {.forget_after = 97h}) != usual);
  CHECK(DistributedLockPinger::got(config, {.forget_every = 61min}) != usual);
  CHECK(DistributedLockPinger::got(config, {}, {.call_limit = 9s}) != usual);
}

TEST_CASE("handles that look and handles that lock have different pingers", "[pinger][R12][M6]") {
  const TemporaryFolder folder;
  const ConnectionString config = sqlite_in(folder);
  const auto locks = DistributedLockPinger::got(config);  // Makes the file.
  const StoreOptions to_look{.opening = OpeningRule::to_look};
  const auto looks = DistributedLockPinger::got(config, {}, to_look);
  CHECK(looks != locks);
  CHECK(DistributedLockPinger::got(config, {}, to_look) == looks);
}

TEST_CASE("locks with different witnesses have different pingers", "[pinger][R12][R23]") {
  const TemporaryFolder folder;
  const ConnectionString config = sqlite_in(folder);
  const auto usual = DistributedLockPinger::got(config);
  CHECK(DistributedLockPinger::got(config, {}, {.witness = WitnessRule::command}) != usual);
}

TEST_CASE("threads that ask for a pinger at once get the same one", "[pinger][R12][threads]") {
  const TemporaryFolder folder;
  const ConnectionString config = sqlite_in(folder);
  std::array<std::shared_ptr<DistributedLockPinger>, 4> got;
  boost::barrier start(static_cast<unsigned>(got.size()));
  boost::thread_group threads;
  for (auto& mine : got) {
    threads.create_thread([&] {
      start.wait();
      mine = DistributedLockPinger::got(config, PingerOptions::fitting(10s),
                                        StoreOptions::fitting(10s));
    });
  }
  threads.join_all();
  for (const auto& mine : got) CHECK(mine == got[0]);
}

TEST_CASE("threads with different leases on memory: never hold one lock together",
          "[lock][R1][threads]") {
  std::atomic<bool> inside{false};
  std::atomic<int> overlaps{0};
  std::atomic<int> holds{0};
  boost::thread_group threads;
  for (const std::chrono::milliseconds lease : {10s, 20s, 40s, 80s}) {
    threads.create_thread([&, lease] {
      DistributedLock lock(ConnectionString("memory:"), "shared",
                           {.takeover_after = lease, .poll_min = 1ms, .poll_max = 1ms});
      for (int round = 0; round < 25; ++round) {
        const std::lock_guard guard(lock);
        if (inside.exchange(true)) ++overlaps;
        ++holds;
        boost::this_thread::yield();
        inside = false;
      }
    });
  }
  threads.join_all();
  CHECK(holds == 100);
  CHECK(overlaps == 0);
}

TEST_CASE("locks of one string with different leases exclude each other", "[lock][R1]") {
  const TemporaryFolder folder;
  const bool in_memory = GENERATE(true, false);
  const ConnectionString config = in_memory ? ConnectionString("memory:") : sqlite_in(folder);
  DistributedLock patient(config, "balancer");
  DistributedLock hasty(config, "balancer", {.takeover_after = 10s});
  REQUIRE(patient.lock_try("x"));
  LockRecord other;
  CHECK_FALSE(hasty.lock_try("y", &other));
  CHECK(other.why == "x");
  REQUIRE(patient.unlock() == UnlockResult::released);
  CHECK(hasty.lock_try("y"));
  CHECK_FALSE(patient.lock_try("x"));
  CHECK(hasty.fence() == 2);
}

TEST_CASE("wrong options are refused before the store is opened", "[lock][R9]") {
  const TemporaryFolder folder;
  const auto code_for = [&](const LockOptions& options, const char* name = "jobs") {
    try {
      const DistributedLock lock(sqlite_in(folder), name, options);
    } catch (const Error& error) {
      return error.errc();
    }
    return Errc{};
  };
  CHECK(code_for({.takeover_after = 0s}) == Errc::invalid_argument);
  CHECK(code_for({.takeover_after = 2ms}) == Errc::invalid_argument);
  CHECK(code_for({.why = std::string(10001, 'y')}) == Errc::invalid_argument);
  CHECK(code_for({.why = "\xff"}) == Errc::invalid_argument);
  CHECK(code_for({}, "") == Errc::invalid_argument);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the reason of the options stands where a call gives none", "[lock][R14]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer", {.why = "rebalancing"});
  {
    const std::unique_lock held(*lock);
    CHECK(fleet.stored("balancer").why == "rebalancing");
  }
  REQUIRE(lock->lock_try("a look"));
  CHECK(fleet.stored("balancer").why == "a look");
  fleet.clock->advance(16min);
  REQUIRE(lock->reclaim());
  CHECK(fleet.stored("balancer").why == "rebalancing");
}

TEST_CASE("remaining() falls to zero and no further", "[lock][R9]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  CHECK(lock->remaining() == 0s);
  REQUIRE(lock->lock_try("x"));
  const auto at_first = lock->remaining();
  CHECK(at_first == lock->valid_until() - fleet.clock->steady_now());
  fleet.clock->advance(1min);
  CHECK(lock->remaining() == at_first - 1min);
  fleet.clock->advance(at_first);
  CHECK(lock->remaining() == 0s);
  REQUIRE(lock->unlock() == UnlockResult::released);
  CHECK(lock->remaining() == 0s);
}

TEST_CASE("every way to wait takes stop, reason and record in this order", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto waiter = fleet.process("b").lock("balancer");
  std::stop_source stop;
  stop.request_stop();
  LockRecord other;
  CHECK_FALSE(waiter->try_lock_for(0s, {}, "y", &other));
  CHECK(other.process == "a");
  other = {};
  CHECK_FALSE(
      waiter->try_lock_until(std::chrono::steady_clock::time_point::min(), {}, "y", &other));
  CHECK(other.process == "a");
  CHECK_FALSE(waiter->lock(stop.get_token(), "y", &other));
  CHECK_FALSE(
      waiter->try_lock_until(std::chrono::system_clock::time_point::max(), stop.get_token(), "y"));
  REQUIRE(held->unlock() == UnlockResult::released);
  REQUIRE(waiter->try_lock_until(std::chrono::steady_clock::time_point::min(), {}, "in time"));
  CHECK(fleet.stored("balancer").why == "in time");
}
