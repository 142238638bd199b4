// Beside the last of MongoDB's own lock managers that pings as the original did: that of the config
// server of MongoDB 4.4, which locks the name of a database that it creates.
#include <catch2/catch.hpp>
#include <future>

#include "distlock/clock.h"
#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "mongo/server.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

std::string config_uri() { return required_variable("DISTLOCK_MONGODB_CONFIG_SERVER_URI"); }

void create_database(const std::string& name, std::chrono::milliseconds limit) {
  Server(config_uri(), "config")
      .admin(doc({{"_configsvrCreateDatabase", name},
                  {"writeConcern", doc({{"w", "majority"}})},
                  {"maxTimeMS", std::int64_t{limit.count()}}}));
}

bool created(const std::string& name) {
  return Server(config_uri(), "config").raw("databases", name).has_value();
}

// So that a test can be repeated on the same servers.
std::string new_database() {
  return "d" + std::to_string(host_clock()->steady_now().time_since_epoch().count());
}

}  // namespace

TEST_CASE("a hold of ours keeps the lock manager of MongoDB 4.4 out, and our fields stay",
          "[mongo][R1][R10]") {
  const Server config(config_uri(), "config");
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = open_store(config.connection(), {})}, PingerOptions{});
  const std::string name = new_database();
  DistributedLock lock(pinger, name);
  REQUIRE(lock.lock_try("test"));
  CHECK_THROWS_AS(create_database(name, 3s), std::runtime_error);
  CHECK_FALSE(created(name));
  CHECK(lock.still_held());

  auto waiting = std::async(std::launch::async, [&] { create_database(name, 5min); });
  CHECK(lock.unlock() == UnlockResult::released);
  waiting.get();
  CHECK(created(name));
  const auto after = pinger->store().inspect(name, Freshness::fresh).lock;
  REQUIRE(after);
  CHECK(after->process == "ConfigServer");
  CHECK(after->why == "createDatabase");
  CHECK_FALSE(after->taken());
  CHECK(after->fence == 1);
  CHECK(after->takeover_after == lock.options().takeover_after);

  REQUIRE(lock.lock_try("again"));
  CHECK(lock.fence() == 2);
}
