// Threads of two processes that pass holds of one lock of a server on (R21).
#include <catch2/catch.hpp>

#include "mongo/server.h"
#include "stores/mongodb/mongo_store.h"
#include "support/hot_lock.h"

using namespace distlock;
using namespace distlock::testing;

TEST_CASE("threads of two processes that pass a hold of a server on never hold it together",
          "[store][waiting][R10][R21]") {
  const Server server{standalone_uri()};
  HotLock hot;
  std::vector<std::shared_ptr<DistributedLockPinger>> processes;
  boost::thread_group group;
  for (const char* name : {"one", "other"}) {
    processes.push_back(std::make_shared<DistributedLockPinger>(
        Environment{.store = open_mongo_store(server.connection(), {}), .process = name}));
    group.create_thread([&hot, pinger = processes.back()] { hurry(hot, pinger, "jobs", 3, 100); });
  }
  group.join_all();
  CHECK(hot.grants == 600);
  CHECK(hot.together == 0);
  CHECK(hot.backwards == 0);
  CHECK(hot.passes > 0);
  const auto store = open_mongo_store(server.connection(), {});
  const LockRecord left = *store->inspect("jobs", Freshness::fresh).lock;
  CHECK_FALSE(left.taken());
  CHECK(left.line.empty());
  CHECK(left.fence >= hot.last_fence);
}
