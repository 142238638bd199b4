#include <catch2/catch.hpp>

#include "contract/contract.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::chrono::days kAge{4};
constexpr std::chrono::minutes kLittle{5};

Document ping_aged(const StoreNow& now, std::string_view process, std::chrono::milliseconds age,
                   const std::string& clock) {
  return with(ping_document(process, now.time - age), "clock", clock);
}

}  // namespace

TEST_CASE("a ping is stamped by the store's clock, and says which", "[store][R4]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreNow before = store->list().now;
  const PingRecord ping = store->ping("db7:1300000000:1");

  CHECK(ping.process == "db7:1300000000:1");
  CHECK(ping.ping >= before.time);
  CHECK(ping.ping <= store->list().now.time);
  CHECK(ping.clock == before.clock);
}

TEST_CASE("handles on one store share one clock", "[store][R4]") {
  const auto under_test = make_store_under_test();
  const PingRecord first = under_test->open()->ping("a");
  const PingRecord second = under_test->open()->ping("b");
  CHECK(first.clock == second.clock);
  CHECK(first.ping <= second.ping);
}

TEST_CASE("a ping replaces the one before and keeps unknown fields", "[store][R12]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_ping(with(ping_document("a", StoreTime{}), "waiting", std::string("theirs")));
  const PingRecord ping = store->ping("a");

  const auto raw = under_test->raw_ping("a");
  REQUIRE(raw);
  CHECK(ping_from(*raw).ping == ping.ping);
  REQUIRE(field_of(*raw, "waiting"));
  CHECK(*field_of(*raw, "waiting") == Value{std::string("theirs")});
  CHECK(store->list().pings.size() == 1);
}

TEST_CASE("every ping says by which clock and when it was made", "[store][R4][R12]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_ping(with(ping_document("a", StoreTime{}), "clock", std::string("another")));
  const PingRecord first = store->ping("a");
  CHECK(ping_from(*under_test->raw_ping("a")).clock == first.clock);
  while (store->list().now.time <= first.ping) {
  }
  CHECK(store->ping("a").ping > first.ping);
}

TEST_CASE("a look at a free lock shows no ping", "[store][R7]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord lock = held(*store, "jobs");
  store->ping("holder");
  REQUIRE(store->release("jobs", *lock.ts) == ReleaseResult::freed);
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).ping);
}

TEST_CASE("a look at a taken lock shows its holder's ping and a later now", "[store][R4]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const PingRecord ping = store->ping("holder");
  store->ping("another");
  held(*store, "jobs");
  const Inspection seen = under_test->open()->inspect("jobs", Freshness::fresh);

  REQUIRE(seen.ping);
  REQUIRE(seen.now);
  CHECK(seen.ping->process == "holder");
  CHECK(seen.ping->ping == ping.ping);
  CHECK(seen.ping->clock == seen.now->clock);
  CHECK(seen.now->time >= seen.ping->ping);
}

TEST_CASE("a ping much later than now is shown as later", "[store][R5]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const StoreNow now = store->list().now;
  under_test->put_ping(ping_aged(now, "holder", -1h, now.clock));
  const Inspection seen = store->inspect("jobs", Freshness::fresh);
  REQUIRE(seen.ping);
  CHECK(seen.ping->ping > seen.now->time);
}

TEST_CASE("a look at a taken lock whose holder has no ping shows none", "[store][R7]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  CHECK_FALSE(store->inspect("jobs", Freshness::ordinary).ping);
}

TEST_CASE("a removed ping is gone, and removing it again is no error", "[store][R12]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  store->ping("a");
  store->ping("b");
  store->remove_ping("a");
  store->remove_ping("a");
  CHECK_FALSE(under_test->raw_ping("a"));
  CHECK(under_test->raw_ping("b"));
}

TEST_CASE("old pings of processes that hold nothing are forgotten", "[store][R13]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreNow now = store->list().now;
  under_test->put_ping(ping_aged(now, "old", kAge + kLittle, now.clock));
  under_test->put_ping(ping_document("old and original", now.time - kAge - kLittle));
  under_test->put_ping(ping_aged(now, "young", kAge - kLittle, now.clock));
  under_test->put_ping(ping_document("young and original", now.time - kAge + kLittle));

  CHECK(store->forget_pings(kAge) == 2);
  CHECK_FALSE(under_test->raw_ping("old"));
  CHECK_FALSE(under_test->raw_ping("old and original"));
  CHECK(under_test->raw_ping("young"));
  CHECK(under_test->raw_ping("young and original"));
}

TEST_CASE("a ping that protects a held lock is never forgotten", "[store][R13]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreNow now = store->list().now;
  under_test->put_ping(ping_aged(now, "db7", 100 * kAge, now.clock));

  Document lock = taken_lock("jobs", "db7", new_token());
  SECTION("taken") {}
  SECTION("taken by MongoDB") { lock = with(lock, "state", std::int32_t{2}); }
  SECTION("taken by an old shell") { lock = with(lock, "state", 1.0); }
  SECTION("malformed, so nobody knows") { lock = with(lock, "state", std::string("x")); }
  SECTION("without a state, so nobody knows") { lock = without(lock, "state"); }
  under_test->put_lock(lock);

  CHECK(store->forget_pings(kAge) == 0);
  CHECK(under_test->raw_ping("db7"));
}

TEST_CASE("a released lock protects no ping", "[store][R13]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreNow now = store->list().now;
  under_test->put_ping(ping_aged(now, "db7", 100 * kAge, now.clock));
  Document lock = taken_lock("jobs", "db7", new_token());
  SECTION("by us") { lock = with(lock, "state", std::int32_t{0}); }
  SECTION("by an old shell") { lock = with(lock, "state", 0.0); }
  under_test->put_lock(lock);
  CHECK(store->forget_pings(kAge) == 1);
}

TEST_CASE("a ping by another clock is kept one more day", "[store][R4][R13]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const StoreNow now = store->list().now;
  under_test->put_ping(ping_aged(now, "kept", kAge + 24h - kLittle, "another"));
  under_test->put_ping(ping_aged(now, "forgotten", kAge + 24h + kLittle, "another"));

  CHECK(store->forget_pings(kAge) == 1);
  CHECK(under_test->raw_ping("kept"));
  CHECK_FALSE(under_test->raw_ping("forgotten"));
}

TEST_CASE("pings come and go and no lock changes", "[store][R12][R13]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(taken_lock("jobs", "db7", new_token()));
  under_test->put_lock(free_lock("mail"));
  const auto jobs = under_test->raw_lock("jobs");
  const auto mail = under_test->raw_lock("mail");

  store->ping("db7");
  store->ping("another");
  store->forget_pings(kAge);
  store->remove_ping("db7");
  CHECK(under_test->raw_lock("jobs") == jobs);
  CHECK(under_test->raw_lock("mail") == mail);
}

TEST_CASE("a ping keeps how many pings were good and failed", "[store][R12]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const PingHealth health{.successes = 7, .failures = 2, .round_trip = 3ms, .late_by = 15s};
  CHECK(store->ping("a", {.successes = 6}).health == PingHealth{.successes = 6});
  CHECK(store->ping("a", health).clock == store->ping("b").clock);
  const Listing listing = store->list();
  REQUIRE(listing.pings.size() == 2);
  CHECK(listing.pings[0].record->health == health);
  CHECK(listing.pings[1].record->health == PingHealth{});
}
