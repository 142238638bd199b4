// Documents that somebody spoilt, and what a process still learns of its holds.
#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

// As from a shell, where a number without a type is a 32-bit integer or a double.
void spoil(Fleet& fleet, const std::string& lock, std::string_view field, const Value& value) {
  Document document = fleet.memory.tables.raw_lock(lock).value();
  set_field(document, field, value);
  fleet.memory.tables.put_lock(document);
}

void break_lock(Fleet& fleet, const std::string& lock) {
  const LockRecord record = fleet.stored(lock);
  REQUIRE(fleet.store->release(lock, *record.ts) == ReleaseResult::freed);
}

// A hold of the process "a" that none of its objects knows of.
void leave_stray(Fleet& fleet, const std::string& lock, const Token& ts = {{9}}) {
  const StoreNow cutoff{fleet.store->list().now.time + 1h, "memory"};
  const Claim stray{.process = "a", .who = "a:1:1", .why = "", .ts = ts, .cutoff = cutoff};
  REQUIRE(fleet.store->claim(lock, FromAbsent{}, stray));
}

Errc code_of_still_held(DistributedLock& lock) {
  try {
    (void)lock.still_held();
  } catch (const Error& error) {
    return error.errc();
  }
  FAIL("no error");
  return {};
}

}  // namespace

TEST_CASE("one malformed document hides no other loss", "[pinger][R9][R14]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto first = a.lock("a spoilt one");
  const auto second = a.lock("balancer");
  const auto last = a.lock("z spoilt too");
  for (const auto* lock : {&first, &second, &last}) REQUIRE((*lock)->lock_try("x"));
  const auto b = fleet.process("b");
  const auto rival = b.lock("balancer");
  break_lock(fleet, "balancer");
  REQUIRE(rival->lock_try("y"));

  SECTION("of a lock of one's own that was freed by hand") {
    for (const std::string name : {"a spoilt one", "z spoilt too"}) {
      spoil(fleet, name, "state", std::int32_t{0});
      spoil(fleet, name, "fence", std::int32_t{100});
    }
    a.pinger->ping_round();
    CHECK(first->lost() == LossReason::freed);
    CHECK(last->lost() == LossReason::freed);
  }
  SECTION("of a lock of one's own that cannot be judged") {
    for (const std::string name : {"a spoilt one", "z spoilt too"}) {
      spoil(fleet, name, "state", std::int32_t{7});
    }
    a.pinger->ping_round();
    CHECK(first->held());
    CHECK(last->held());
  }
  SECTION("of a stray hold") {
    leave_stray(fleet, "a stray");
    spoil(fleet, "a stray", "fence", std::string("100"));
    a.pinger->ping_round();
  }
  SECTION("of the rival's ping") {
    Document ping = fleet.memory.tables.raw_ping("b").value();
    set_field(ping, "ping", std::string("today"));
    fleet.memory.tables.put_ping(ping);
    a.pinger->ping_round();
  }
  CHECK_FALSE(second->held());
  CHECK(second->lost() == LossReason::taken_over);
  CHECK(rival->held());
}

TEST_CASE("a read that fails for one lock hides no other loss", "[pinger][R9][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto one = a.lock("one");
  const auto two = a.lock("two");
  REQUIRE(one->lock_try("x"));
  REQUIRE(two->lock_try("x"));
  break_lock(fleet, "one");
  break_lock(fleet, "two");
  a.store->fail("carried", Fault::rejected);
  a.pinger->ping_round();
  CHECK(one->held() != two->held());
  a.pinger->ping_round();
  CHECK_FALSE(one->held());
  CHECK_FALSE(two->held());
}

TEST_CASE("a stray hold is freed whatever else is malformed", "[pinger][R8][R14]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("held");
  REQUIRE(held->lock_try("x"));
  spoil(fleet, "held", "state", std::int32_t{7});
  leave_stray(fleet, "m stray");
  SECTION("in its own document") { spoil(fleet, "m stray", "takeover_after", std::string("1s")); }
  SECTION("in another stray's") {
    leave_stray(fleet, "a stray", {{8}});
    spoil(fleet, "a stray", "fence", std::string("100"));
  }
  a.pinger->ping_round();
  CHECK(std::get<std::int32_t>(*find_field(*fleet.memory.tables.raw_lock("m stray"), "state")) ==
        0);
}

TEST_CASE("a ts that is not ours is a loss, whatever else the document says",
          "[lifetime][R9][R14]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  spoil(fleet, "balancer", "fence", std::string("100"));
  const bool asked_for = GENERATE(false, true);
  auto expected = LossReason::replaced;
  SECTION("taken under another") {
    spoil(fleet, "balancer", "ts", Token{{7}});
    expected = LossReason::taken_over;
  }
  SECTION("free under another") {
    spoil(fleet, "balancer", "ts", Token{{7}});
    spoil(fleet, "balancer", "state", std::int32_t{0});
  }
  SECTION("malformed under another") {
    spoil(fleet, "balancer", "ts", Token{{7}});
    spoil(fleet, "balancer", "state", std::int32_t{7});
  }
  SECTION("none at all") { spoil(fleet, "balancer", "ts", std::string("none")); }
  if (asked_for) {
    CHECK_FALSE(lock->still_held());
  } else {
    a.pinger->ping_round();
  }
  CHECK_FALSE(lock->held());
  CHECK(lock->lost() == expected);
}

TEST_CASE("a document that cannot be judged ends no hold that nobody else can get",
          "[lifetime][R9][R14]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const auto rival = fleet.process("b").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  spoil(fleet, "balancer", "state", std::int32_t{7});
  for (int i = 0; i < 40; ++i) {
    a.pinger->ping_round();
    fleet.clock->advance(30s);
    CHECK(thrown_by([&] { return rival->lock_try("y"); }) == Errc::bad_record);
  }
  CHECK(code_of_still_held(*lock) == Errc::bad_record);
  CHECK(lock->held());
  spoil(fleet, "balancer", "state", std::int32_t{0});  // mended
  a.pinger->ping_round();
  CHECK(lock->lost() == LossReason::freed);
}
