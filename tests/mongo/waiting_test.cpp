// Many who wait for one lock of a replica set, while its primary changes (R15, R17, R18).
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "mongo/faults.h"
#include "stores/mongodb/mongo_store.h"
#include "support/crossed_locks.h"
#include "support/hot_lock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr int kProcesses = 10;
constexpr int kThreads = 5;

std::shared_ptr<DistributedLockPinger> process_on(const Server& server) {
  return std::make_shared<DistributedLockPinger>(
      Environment{.store = open_mongo_store(server.connection(), {})});
}

// Another member than now is the primary.
void change_primary() {
  const auto ports = ports_of(replica_set_uri());
  step_up(replica_set_uri(), primary_among(ports) == ports[0] ? ports[1] : ports[0]);
}

}  // namespace

TEST_CASE("fifty who wait get the lock one after the other while the primary changes twice",
          "[mongo][waiting][R15][R17][R18]") {
  wait_until_whole(replica_set_uri());
  const Server server(replica_set_uri());
  const LockOptions options{.pass_rule = PassRule::never};
  DistributedLock holder(process_on(server), "jobs", options);
  REQUIRE(holder.lock_try("first"));
  HotLock hot;
  std::atomic<int> given_up = 0;
  boost::thread_group waiters;
  for (int i = 0; i < kProcesses; ++i) {
    const auto process = process_on(server);
    for (int k = 0; k < kThreads; ++k) {
      waiters.create_thread([&, process] {
        DistributedLock lock(process, "jobs", options);
        if (!lock.try_lock_for(5min)) {
          ++given_up;
          return;
        }
        hot.visit(lock);
        lock.unlock();
      });
    }
  }
  const auto store = open_mongo_store(server.connection(), {});
  wait_until("a thread of each process stands in line", [&] {
    return store->inspect("jobs", Freshness::fresh).lock->line.size() == kProcesses;
  });
  change_primary();
  holder.unlock();
  wait_until("some have had it", [&] { return hot.grants >= 10; });
  change_primary();
  waiters.join_all();
  CHECK(given_up == 0);
  CHECK(hot.grants == kProcesses * kThreads);
  CHECK(hot.together == 0);
  CHECK(hot.backwards == 0);
  wait_until_whole(replica_set_uri());
  const LockRecord left = *store->inspect("jobs", Freshness::fresh).lock;
  CHECK(left.line.empty());
}

TEST_CASE("two who wait for each other on a server hear of their deadlock",
          "[mongo][R22][threads]") {
  const Server server(GENERATE(values({standalone_uri(), replica_set_uri()})));
  const std::string message =
      message_of_a_deadlock([&] { return open_mongo_store(server.connection(), {}); });
  CHECK_THAT(message,
             Catch::StartsWith("deadlock: ") && Catch::Contains("one") && Catch::Contains("two"));
}

// It would look by itself in an hour.
TEST_CASE("a stop ends a wait while the bell's cursor waits", "[mongo][R15][R19][threads]") {
  const Server server(standalone_uri());
  const auto store = open_mongo_store(server.connection(), {});
  DistributedLock held(process_on(server), "jobs");
  REQUIRE(held.lock_try("x"));
  DistributedLock wanted(process_on(server), "jobs", {.recheck = 1h});
  std::stop_source stop;
  std::atomic<bool> waits{false};
  wanted.on_waiting([&](const WaitReport&) { waits = true; });
  bool got = true;
  boost::thread waiter([&] { got = wanted.lock(stop.get_token()); });
  const auto places = [&] { return store->inspect("jobs", Freshness::fresh).lock->line.size(); };
  while (!waits) boost::this_thread::yield();
  CHECK(places() == 1);
  stop.request_stop();
  waiter.join();
  CHECK_FALSE(got);
  CHECK(places() == 0);
}
