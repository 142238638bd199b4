#include <catch2/catch.hpp>

#include "contract/contract.h"
#include "contract/wrong_types.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::string_literals;

TEST_CASE("names and reasons are kept letter for letter", "[store]") {
  const std::string text = GENERATE(
      "$set"s, "$$NOW"s, "$process"s, "$why.ts"s, "a.b.c"s, "it's \"quoted\"; DROP TABLE locks;--"s,
      "\xf0\x9f\x94\x92 caf\xc3\xa9"s, "line\nbreak\ttab"s, " blank "s, "%s%n"s, "100%"s,
      "{\"$ne\": 1}"s, std::string(1000, 'n'));
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  Claim claim = claim_by(*store, "p " + text);
  claim.why = "why " + text;
  claim.who = text;
  store->ping(claim.process);
  REQUIRE(store->claim(text, FromAbsent{}, claim));

  const Inspection seen = under_test->open()->inspect(text, Freshness::fresh);
  REQUIRE(seen.lock);
  REQUIRE(seen.ping);
  CHECK(seen.lock->name == text);
  CHECK(seen.lock->process == claim.process);
  CHECK(seen.lock->who == claim.who);
  CHECK(seen.lock->why == claim.why);
  CHECK(seen.ping->process == claim.process);
  CHECK(store->holds(claim.process).size() == 1);
  CHECK(store->release(text, claim.ts) == ReleaseResult::freed);

  Claim again = claim_by(*store, text);
  again.why = text;
  CHECK(claimed(*store, text, FromFree{}, again).why == text);
  Claim over = claim_by(*store, text);
  over.process = text;
  CHECK(claimed(*store, text, FromHold{again.ts}, over).process == text);
}

TEST_CASE("empty texts are texts", "[store]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  Claim claim = claim_by(*store, "p");
  claim.why = "";
  claim.who = "";
  REQUIRE(store->claim("jobs", FromAbsent{}, claim));
  const auto lock = store->inspect("jobs", Freshness::fresh).lock;
  REQUIRE(lock);
  CHECK(lock->why.empty());
}

TEST_CASE("unknown fields outlive claim, takeover and release", "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(with(free_lock("jobs"), "term", "theirs"s));
  const LockRecord first = claimed(*store, "jobs", FromFree{}, claim_by(*store, "a"));
  const LockRecord second = claimed(*store, "jobs", FromHold{*first.ts}, claim_by(*store, "b"));
  REQUIRE(store->release("jobs", *second.ts) == ReleaseResult::freed);

  const auto raw = under_test->raw_lock("jobs");
  REQUIRE(field_of(*raw, "term"));
  CHECK(*field_of(*raw, "term") == Value{"theirs"s});
}

TEST_CASE("a lock is read as it is stored, whatever its state", "[store][R14]") {
  const auto [stored, state] = GENERATE(table<std::int32_t, LockState>(
      {{0, LockState::free}, {1, LockState::taken}, {2, LockState::taken_by_mongodb}}));
  const auto under_test = make_store_under_test();
  const Token ts = new_token();
  under_test->put_lock(with(taken_lock("jobs", "db7:1:2", ts), "state", stored));
  const auto lock = under_test->open()->inspect("jobs", Freshness::ordinary).lock;

  REQUIRE(lock);
  CHECK(lock->name == "jobs");
  CHECK(lock->state == state);
  CHECK(lock->process == "db7:1:2");
  CHECK(lock->who == "db7:1:2:conn12:846930886");
  CHECK(lock->when == StoreTime{std::chrono::milliseconds{1300000000000}});
  CHECK(lock->why == "doing balance round");
  CHECK(lock->ts == ts);
}

TEST_CASE("locks are listed by name", "[store]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  for (const char* name : {"b", "a", "B", "\xc3\xa9"}) held(*store, name);
  const Listing listing = store->list();
  REQUIRE(listing.locks.size() == 4);
  CHECK(listing.locks[0].id == "B");
  CHECK(listing.locks[1].id == "a");
  CHECK(listing.locks[2].id == "b");
  CHECK(listing.locks[3].id == "\xc3\xa9");
}

TEST_CASE("a text that is no UTF-8 is read as it stands", "[store][R9][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const std::string text = "caf\xe9 \xff";
  under_test->put_lock(with(with(taken_lock("jobs", "db7", kTheirs), "why", text), "who", text));
  const LockRecord lock = store->inspect("jobs", Freshness::ordinary).lock.value();
  CHECK(lock.why == text);
  CHECK(lock.who == text);
  CHECK(store->carried("jobs")->ts == kTheirs);
  CHECK(store->list().locks.at(0).record->why == text);
  CHECK(store->holds("db7").size() == 1);
  CHECK(store->release("jobs", kTheirs) == ReleaseResult::freed);
}
