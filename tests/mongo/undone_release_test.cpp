// A release that a fail-over of a real set undoes.
#include <catch2/catch.hpp>

#include "distlock/distributed_lock.h"
#include "mongo/attempts.h"
#include "mongo/faults.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

struct Client {
  Client(const Server& server, const std::string& name)
      : store(open_mongo_store(server.connection(), {.call_limit = 5s})),
        pinger(std::make_shared<DistributedLockPinger>(Environment{.store = store, .process = name},
                                                       PingerOptions{.ping_every = 5s},
                                                       PingerDrive::caller)),
        lock(pinger, "jobs") {}

  std::shared_ptr<Store> store;
  std::shared_ptr<DistributedLockPinger> pinger;
  DistributedLock lock;
};

/// A member that fetches no writes, until destroyed.
class NoReplication {
 public:
  explicit NoReplication(int port) : member_(direct_uri(port), "admin") { set("alwaysOn"); }
  ~NoReplication() { set("off"); }
  NoReplication(const NoReplication&) = delete;
  NoReplication& operator=(const NoReplication&) = delete;

 private:
  void set(const char* mode) const {
    member_.admin(doc({{"configureFailPoint", "stopReplProducer"}, {"mode", mode}}));
  }

  Server member_;
};

// The lock as the primary of the moment has it.
LockRecord seen_at_last(Store& store) {
  std::optional<LockRecord> lock;
  wait_until("a look at the lock", [&] {
    failure_of([&] { lock = store.inspect("jobs", Freshness::fresh).lock; });
    return lock.has_value();
  });
  return *lock;
}

}  // namespace

TEST_CASE("a release that a fail-over undoes costs waiting, and its stray hold is freed",
          "[mongo][R3][R8][R10]") {
  wait_until_whole(replica_set_uri());
  const auto ports = ports_of(replica_set_uri());
  const int deposed = primary_among(ports);
  const auto rest = without(ports, deposed);
  const Server server(replica_set_uri());
  Client holder(server, "holder");
  Client rival(server, "rival");
  REQUIRE(holder.lock.lock_try("first"));
  rival.pinger->ping_round();
  wait_until_whole(replica_set_uri());
  std::optional<Stopped> primary;
  {
    // The primary alone has the release, and then it is gone.
    const NoReplication first(rest[0]);
    const NoReplication second(rest[1]);
    REQUIRE(holder.lock.unlock() == UnlockResult::released);
    primary.emplace(deposed);
    elect_among(rest);
  }
  const LockRecord undone = seen_at_last(*rival.store);
  REQUIRE(undone.taken());
  CHECK(undone.process == "holder");
  LockRecord other;
  wait_until(
      "a busy lock",
      [&] {
        bool got = true;
        return !failure_of([&] { got = rival.lock.lock_try("waits", &other); }) && !got;
      },
      1min);
  CHECK(other.process == "holder");
  primary.reset();
  wait_until_whole(replica_set_uri());

  CHECK_FALSE(holder.lock.held());
  SECTION("by the next rounds of the process that released it") {
    wait_until("a round", [&] {
      holder.pinger->ping_round();
      return !seen_at_last(*rival.store).taken();
    });
  }
  SECTION("by its next attempt to get it") {
    wait_until("it gets it", [&] {
      bool got = false;
      failure_of([&] { got = holder.lock.lock_try("again"); });
      return got;
    });
    CHECK(holder.lock.fence() >= 2);
    holder.lock.unlock();
  }
  SECTION("by its stop, which takes its ping away") {
    holder.pinger->stop();
    CHECK_FALSE(server.raw(kLockPings, "holder"));
  }
  const Fence before = seen_at_last(*rival.store).fence;
  wait_until("a claim", [&] {
    bool got = false;
    failure_of([&] { got = rival.lock.lock_try("has it"); });
    return got;
  });
  CHECK(rival.lock.fence() == before + 1);
}
