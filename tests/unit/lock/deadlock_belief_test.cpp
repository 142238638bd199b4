// When a cycle of waiters is believed, and how often a waiter looks (R22).
#include <catch2/catch.hpp>

#include "distlock/distributed_lock.h"
#include "support/fleet.h"
#include "unit/lock/crossed_waits.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a cycle is believed when two looks show the same places and holds", "[deadlock][R22]") {
  CrossedWaits crossed;
  CHECK(crossed.looks(crossed.last));
  SECTION("the same") { CHECK_FALSE(crossed.looks(crossed.last)); }
  SECTION("a place was left and taken anew") {
    crossed.fleet.store->line()->leave("x", crossed.last);
    crossed.last = crossed.stand("x", "p:b");
    crossed.fleet.clock->advance(1s);
    crossed.ping("p:a");
    CHECK(crossed.looks(crossed.last));
    CHECK_FALSE(crossed.looks(crossed.last));
  }
}

TEST_CASE("a cycle is believed when each other process has pinged since the last of it came",
          "[deadlock][R22]") {
  CrossedWaits crossed;
  crossed.fleet.store->remove_ping("p:a");
  const bool pinged_before = GENERATE(false, true);
  if (pinged_before) {
    crossed.ping("p:a");
    crossed.fleet.store->line()->leave("x", crossed.last);
    crossed.last = crossed.stand("x", "p:b");
  }
  crossed.fleet.clock->advance(1s);
  for (int look = 0; look < 5; ++look) CHECK(crossed.looks(crossed.last));
  crossed.ping("p:a");
  // Once more, since the pinger gives up after its ping.
  CHECK(crossed.looks(crossed.last));
  CHECK(crossed.watch.due() == crossed.fleet.clock->steady_now() + 1s);
  CHECK_FALSE(crossed.looks(crossed.last));
}

TEST_CASE("a cycle through a place that its thread may have left is believed after another ping",
          "[deadlock][R22]") {
  CrossedWaits crossed;
  // By the store's clock, the other thread has got its lock since it came.
  Document hold = *crossed.fleet.memory.tables.raw_lock("x");
  for (auto& [field, value] : hold)
    if (field == "when") value = crossed.fleet.store->list().now.time + 7s;
  crossed.fleet.memory.tables.put_lock(hold);
  for (int look = 0; look < 4; ++look) CHECK(crossed.looks(crossed.last));
  crossed.fleet.clock->advance(1s);
  crossed.ping("p:a");
  CHECK_FALSE(crossed.looks(crossed.last));
}

TEST_CASE("a hold or place that its process has given up is in no cycle", "[deadlock][R22]") {
  CrossedWaits crossed;
  crossed.given_up = GENERATE(true, false) ? crossed.last : *crossed.fleet.stored("y").ts;
  for (int look = 0; look < 3; ++look) CHECK(crossed.looks(crossed.last));
  CHECK(crossed.seen == DeadlockWatch::Seen::no_cycle);
}

TEST_CASE("pings from before a wait behind another thread let it believe no cycle",
          "[deadlock][R22]") {
  CrossedWaits crossed;
  crossed.fleet.store->line()->leave("x", crossed.last);
  const Token ticket{{1}};
  crossed.behind = {{"x", {ticket, "p:b", "p:b:0", StoreTime::max(), {}}}};
  for (int i = 0; i < 4; ++i) CHECK(crossed.looks(ticket));
  crossed.fleet.clock->advance(1s);
  crossed.ping("p:a");
  CHECK(crossed.looks(ticket));
  CHECK_FALSE(crossed.looks(ticket));
}

TEST_CASE("pings by another clock, or of the future, let no cycle be believed", "[deadlock][R22]") {
  CrossedWaits crossed;
  const bool future = GENERATE(false, true);
  Document ping = *crossed.fleet.memory.tables.raw_ping("p:a");
  for (auto& [field, value] : ping) {
    if (!future && field == "clock") value = std::string("another");
    if (future && field == "ping") value = crossed.fleet.store->list().now.time + 1h;
  }
  crossed.fleet.memory.tables.put_ping(ping);
  for (int look = 0; look < 3; ++look) CHECK(crossed.looks(crossed.last));
}

TEST_CASE("a thread that waits for its own hold, whose release is pending, is in no deadlock",
          "[deadlock][waiting][R11][R22]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("x");
  REQUIRE(lock->lock_try("work"));
  a.store->fail("release", Fault::rejected, 3);
  REQUIRE(lock->unlock() == UnlockResult::pending);
  bool round = false;
  a.store->during_each_call([&](const std::string&) {
    if (fleet.clock->waited() > 20s && !std::exchange(round, true)) a.pinger->ping_round();
  });
  CHECK_NOTHROW(lock->lock());
  a.store->during_each_call({});
  CHECK(lock->held());
  CHECK(round);
}

TEST_CASE("a waiter in a cycle is told to ping, once", "[deadlock][R22]") {
  CrossedWaits crossed;
  CHECK(crossed.looks(Token{{42}}));
  CHECK(crossed.seen == DeadlockWatch::Seen::no_cycle);
  CHECK(crossed.looks(crossed.last));
  CHECK(crossed.seen == DeadlockWatch::Seen::cycle_without_our_ping);
  crossed.ping("p:b");
  CHECK(crossed.looks(crossed.fleet.stored("y").line.front().ticket));
  CHECK(crossed.seen == DeadlockWatch::Seen::cycle);
}

TEST_CASE("only the last that came gives up, however often the others look", "[deadlock][R22]") {
  CrossedWaits crossed;
  const Token first = crossed.fleet.stored("y").line.front().ticket;
  for (int look = 0; look < 3; ++look) CHECK(crossed.looks(first));
}

TEST_CASE("looks for a deadlock become rare, and come soon again for one that was seen",
          "[deadlock][R20][R22]") {
  CrossedWaits crossed;
  const Clock& clock = *crossed.fleet.clock;
  CHECK(crossed.watch.due() == clock.steady_now() + 3s);
  const Token none{{42}};
  for (const auto pause : {10s, 20s, 40s, 60s, 60s}) {
    CHECK(crossed.looks(none));
    CHECK(crossed.watch.due() == clock.steady_now() + pause);
  }
  crossed.fleet.store->remove_ping("p:a");
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    CHECK(crossed.looks(crossed.last));
    CHECK(crossed.watch.due() == clock.steady_now() + pause);
  }
}

TEST_CASE("the pause after a look for a deadlock counts from the store's answer",
          "[deadlock][R20][R22]") {
  CrossedWaits crossed;
  crossed.faulty->before("list_waits", [&] { crossed.fleet.clock->advance(3s); });
  CHECK(crossed.looks(Token{{42}}));
  CHECK(crossed.watch.due() == crossed.fleet.clock->steady_now() + 10s);
}

TEST_CASE("a store that fails shows no deadlock and ends no wait", "[deadlock][R22]") {
  CrossedWaits crossed;
  CHECK(crossed.looks(crossed.last));
  crossed.faulty->fail("list_waits", Fault::rejected);
  CHECK(crossed.looks(crossed.last));
  CHECK(crossed.watch.due() == crossed.fleet.clock->steady_now() + 10s);
  CHECK_FALSE(crossed.looks(crossed.last));
}

TEST_CASE("the thread that has a hold by a pass is the one that others wait for",
          "[deadlock][R21][R22]") {
  CrossedWaits crossed;
  crossed.held = crossed.fleet.stored("y").ts;
  SECTION("the one that claimed it") {
    crossed.holder = "p:b";
    CHECK(crossed.looks(crossed.last));
    CHECK_FALSE(crossed.looks(crossed.last));
  }
  SECTION("another one") {
    crossed.holder = "p:c";
    CHECK(crossed.looks(crossed.last));
    CHECK(crossed.looks(crossed.last));
  }
}

TEST_CASE("threads of a process whose looks are due about together share one, and the next",
          "[deadlock][R20][R22]") {
  CrossedWaits crossed;
  ManualClock& clock = *crossed.fleet.clock;
  const Token none{{42}};
  DeadlockWatch first = crossed.another_watch();
  clock.advance(1250ms);
  DeadlockWatch second = crossed.another_watch();
  clock.advance(1ms);
  DeadlockWatch third = crossed.another_watch();
  clock.advance(first.due() - clock.steady_now());
  first.look(none, clock);
  clock.advance(1250ms);
  second.look(none, clock);
  CHECK(crossed.faulty->calls("list_waits") == 1);
  CHECK(second.due() == first.due());
  clock.advance(1ms);
  third.look(none, clock);
  CHECK(crossed.faulty->calls("list_waits") == 2);
  clock.advance(first.due() - clock.steady_now());
  first.look(none, clock);
  second.look(none, clock);
  CHECK(crossed.faulty->calls("list_waits") == 3);
}

TEST_CASE("a cycle is not believed by one look of another thread, taken twice",
          "[deadlock][R20][R22]") {
  CrossedWaits crossed;
  DeadlockWatch other = crossed.another_watch();
  ManualClock& clock = *crossed.fleet.clock;
  clock.advance(crossed.watch.due() - clock.steady_now());
  crossed.ping("p:a");
  other.look(Token{{42}}, clock);
  for (int look = 0; look < 2; ++look) {
    clock.advance(crossed.watch.due() - clock.steady_now());
    CHECK(crossed.looks(crossed.last) == (look == 0));
  }
  CHECK(crossed.faulty->calls("list_waits") == 2);
}

TEST_CASE("a short pause of a thread is no longer where another thread looks",
          "[deadlock][R20][R22]") {
  CrossedWaits crossed;
  ManualClock& clock = *crossed.fleet.clock;
  DeadlockWatch hasty(crossed.overviews, 1s, clock.steady_now(), "p:b", crossed.warned);
  clock.advance(5s);
  crossed.faulty->before("list_waits", [&] {
    CHECK(hasty.look(crossed.last, clock) == DeadlockWatch::Seen::no_cycle);
    CHECK(hasty.due() == clock.steady_now() + 250ms);
  });
  CHECK(crossed.looks(crossed.last));
}

TEST_CASE("a look that is due while another thread looks is put off", "[deadlock][R20][R22]") {
  CrossedWaits crossed;
  DeadlockWatch other = crossed.another_watch();
  ManualClock& clock = *crossed.fleet.clock;
  clock.advance(5s);
  crossed.faulty->before("list_waits", [&] {
    CHECK(other.look(crossed.last, clock) == DeadlockWatch::Seen::no_cycle);
    CHECK(other.due() == clock.steady_now() + 1s);
  });
  CHECK(crossed.looks(crossed.last));
  CHECK(crossed.faulty->calls("list_waits") == 1);
  clock.advance(1s);
  CHECK(other.look(crossed.last, clock) == DeadlockWatch::Seen::cycle_without_our_ping);
  CHECK(crossed.faulty->calls("list_waits") == 1);
}

TEST_CASE("a cycle that a look between two others does not show is not believed",
          "[deadlock][R21][R22]") {
  CrossedWaits crossed;
  crossed.held = crossed.fleet.stored("y").ts;
  for (const char* holder : {"p:b", "p:c", "p:b"}) {
    crossed.holder = holder;
    CHECK(crossed.looks(crossed.last));
  }
  CHECK_FALSE(crossed.looks(crossed.last));
}

TEST_CASE("a cycle is not believed once a process of it has taken its ping away",
          "[deadlock][R22]") {
  CrossedWaits crossed;
  CHECK(crossed.looks(crossed.last));
  crossed.fleet.store->remove_ping("p:a");
  CHECK(crossed.looks(crossed.last));
}
