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

// A slow store may show the place to others of the process after that.
TEST_CASE("a place is known as given up from before the store is asked to let it go",
          "[deadlock][waiting][R17][R22]") {
  Fleet fleet;
  const auto p = fleet.process("p");
  const auto q = fleet.process("q");
  q.store->has_line = true;
  const auto holder = p.lock("x");
  REQUIRE(holder->lock_try("work"));
  std::size_t given_up = 0;
  q.store->before("leave", [&] { given_up = q.pinger->stats().pending_releases; });
  CHECK_FALSE(q.lock("x")->try_lock_for(5s));
  CHECK(given_up == 1);
  CHECK(q.pinger->stats().pending_releases == 0);
  CHECK(fleet.stored("x").line.empty());
}
