// A server that answers late holds up nobody who opens another store.
#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <memory>

#include "distlock/pinger.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a store that is slow to open holds up no pinger of another", "[mongo][pinger][R12]") {
  std::atomic<bool> asked = false;
  std::atomic<bool> answers = false;
  MockServer server(json("{" + standalone_hello() + "}"));
  server.hold_back_while([&](const Bson&) {
    asked = true;
    return !answers;
  });
  const auto getting = [](const std::string& uri) {
    return std::async(std::launch::async, [uri] {
      return DistributedLockPinger::got(ConnectionString(uri), {}, {.call_limit = 60s});
    });
  };
  auto slow = getting("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/");
  wait_until("the server to be asked", [&] { return asked.load(); });
  auto other = getting("memory:");
  const bool had = other.wait_for(20s) == std::future_status::ready;
  answers = true;
  CHECK(had);
  CHECK(other.get() != slow.get());
}
