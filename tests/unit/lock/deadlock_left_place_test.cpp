#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// A ping that belongs to no round comes before the round that gives the place up.
TEST_CASE("a place that a wait left long ago is in no deadlock when its process pings again",
          "[deadlock][waiting][R17][R22]") {
  Fleet fleet;
  const auto p = fleet.process("p");
  const auto q = fleet.process("q");
  for (const auto& one : {p, q}) one.store->has_line = true;
  const auto px = p.lock("x");
  const auto py = p.lock("y");
  const auto qx = q.lock("x");
  const auto qy = q.lock("y");
  const auto qz = q.lock("z");
  REQUIRE(px->lock_try("work"));
  REQUIRE(qy->lock_try("work"));
  q.store->fail("leave", Fault::rejected);
  REQUIRE_FALSE(qx->try_lock_for(5s));
  REQUIRE(fleet.stored("x").line.size() == 1);
  fleet.clock->advance(61s);
  int looks = 0;
  bool got = false;
  p.store->during_each_call([&](const std::string& call) {
    if (call != "list_waits") return;
    ++looks;
    if (looks == 1) boost::thread([&] { got = qz->lock_try("more"); }).join();
    if (looks == 3) (void)qy->unlock();
  });
  CHECK_NOTHROW(py->lock());
  p.store->during_each_call({});
  CHECK(got);
  CHECK(fleet.stored("x").line.empty());
}
