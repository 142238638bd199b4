#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "contract/contract.h"
#include "contract/wrong_types.h"
#include "distlock/error.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::string_literals;

namespace {

// Whether the lock "jobs" is refused with a message that names what is wrong, and left alone by
// every kind of claim and by a release.
void check_refused_and_unchanged(StoreUnderTest& under_test, Store& store,
                                 const std::string& field) {
  const auto lock_before = under_test.raw_lock("jobs");
  const auto ping_before = under_test.raw_ping("db7");
  check_names_field(field, [&] { store.inspect("jobs", Freshness::ordinary); });
  CHECK(under_test.raw_lock("jobs") == lock_before);
  CHECK(under_test.raw_ping("db7") == ping_before);
}

void check_unclaimable(StoreUnderTest& under_test, Store& store) {
  const auto before = under_test.raw_lock("jobs");
  for (const ClaimBasis& basis : {ClaimBasis{FromAbsent{}}, {FromFree{}}, {FromHold{kTheirs}}}) {
    CHECK_FALSE(store.claim("jobs", basis, claim_by(store, "contender")));
  }
  CHECK(under_test.raw_lock("jobs") == before);
}

}  // namespace

TEST_CASE("a documented field of a wrong type is refused, free or taken", "[store][R14]") {
  const FieldType expected = GENERATE(values<FieldType>({{"process", Type::text},
                                                         {"who", Type::text},
                                                         {"why", Type::text},
                                                         {"when", Type::date},
                                                         {"ts", Type::object_id},
                                                         {"fence", Type::int64},
                                                         {"takeover_after", Type::int64}}));
  const std::int32_t state = GENERATE(0, 1, 2);
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  with_each_wrong_type(*under_test, expected, state,
                       [&] { check_refused_and_unchanged(*under_test, *store, expected.field); });
}

TEST_CASE("a state that is not 0, 1 or 2 is refused, and nobody can claim it", "[store][R14]") {
  const Value state = GENERATE(values<Value>({std::int32_t{-1}, std::int32_t{3}, std::int64_t{3},
                                              0.5, -1.0, std::numeric_limits<double>::infinity(),
                                              "x"s, "0"s, "1"s, StoreTime{}, Foreign{"an array"}}));
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(with(taken_lock("jobs", "db7", kTheirs), "state", state));
  const auto raw = under_test->raw_lock("jobs");
  // A store without dates has an integer there now: that of a free lock.
  if (std::holds_alternative<StoreTime>(state) && !kept_its_type(raw, "state", state)) return;
  check_refused_and_unchanged(*under_test, *store, "state");
  check_unclaimable(*under_test, *store);
  CHECK(thrown_by([&] { return store->release("jobs", kTheirs); }) == Errc::bad_record);
  CHECK(under_test->raw_lock("jobs") == raw);
}

TEST_CASE("a state may be any number that is 0, 1 or 2", "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  SECTION("taken") {
    const Value state = GENERATE(values<Value>({std::int32_t{1}, std::int64_t{1}, 1.0, 2.0}));
    under_test->put_lock(with(taken_lock("jobs", "db7", kTheirs), "state", state));
    CHECK(store->inspect("jobs", Freshness::ordinary).lock->taken());
    CHECK_FALSE(store->claim("jobs", FromFree{}, claim_by(*store, "contender")));
    CHECK(store->claim("jobs", FromHold{kTheirs}, claim_by(*store, "contender")));
  }
  SECTION("free") {
    const Value state = GENERATE(values<Value>({std::int32_t{0}, std::int64_t{0}, 0.0, -0.0}));
    under_test->put_lock(with(free_lock("jobs"), "state", state));
    CHECK_FALSE(store->inspect("jobs", Freshness::ordinary).lock->taken());
    CHECK_FALSE(store->claim("jobs", FromHold{kTheirs}, claim_by(*store, "contender")));
    CHECK(store->claim("jobs", FromFree{}, claim_by(*store, "contender")));
  }
}

TEST_CASE("a taken lock without one of its fields is refused", "[store][R14]") {
  const std::string field = GENERATE("process"s, "who"s, "when"s, "why"s, "ts"s);
  const std::int32_t state = GENERATE(1, 2);
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Document lock = with(taken_lock("jobs", "db7", kTheirs), "state", state);
  under_test->put_lock(without(lock, field));
  check_refused_and_unchanged(*under_test, *store, field);
}

TEST_CASE("a document without a state is refused, and nobody can claim it", "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(without(free_lock("jobs"), "state"));
  check_refused_and_unchanged(*under_test, *store, "state");
  check_unclaimable(*under_test, *store);
}

TEST_CASE("a free lock needs a name and a state only", "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock({{"_id", "jobs"s}, {"state", std::int32_t{0}}});
  CHECK_FALSE(store->inspect("jobs", Freshness::ordinary).lock->taken());
  CHECK(store->claim("jobs", FromFree{}, claim_by(*store, "contender")));
}

TEST_CASE("a malformed fence is refused, and nobody can claim it", "[store][R10][R14]") {
  const Value fence = GENERATE(values<Value>({std::int64_t{-1}, 1.0, "1"s, Foreign{"an array"}}));
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  SECTION("of a free lock") { under_test->put_lock(with(free_lock("jobs"), "fence", fence)); }
  SECTION("of a taken one") {
    under_test->put_lock(with(taken_lock("jobs", "db7", kTheirs), "fence", fence));
  }
  check_refused_and_unchanged(*under_test, *store, "fence");
  check_unclaimable(*under_test, *store);
}

TEST_CASE("a repeated release asks for the state and for nothing else", "[store][R3][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Document released = with(taken_lock("jobs", "db7", kTheirs), "state", std::int32_t{0});
  under_test->put_lock(with(released, "fence", "1"s));
  CHECK(store->release("jobs", kTheirs) == ReleaseResult::already_free);
}

TEST_CASE("a negative takeover_after is refused", "[store][R6][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(
      with(taken_lock("jobs", "db7", kTheirs), "takeover_after", std::int64_t{-1}));
  check_refused_and_unchanged(*under_test, *store, "takeover_after");
}

TEST_CASE("a malformed ping of a holder is refused", "[store][R14]") {
  const FieldType expected =
      GENERATE(values<FieldType>({{"ping", Type::date}, {"clock", Type::text}}));
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(taken_lock("jobs", "db7", kTheirs));
  int tried = 0;
  for (const Value& value : kOneOfEach) {
    if (value.index() == static_cast<std::size_t>(expected.type)) continue;
    under_test->put_ping(with(ping_document("db7", StoreTime{}), expected.field, value));
    if (!kept_its_type(under_test->raw_ping("db7"), expected.field, value)) continue;
    INFO("field " << expected.field << ", type " << value.index());
    check_refused_and_unchanged(*under_test, *store, expected.field);
    ++tried;
  }
  CHECK(tried >= 3);
}

TEST_CASE("a malformed ping is not forgotten", "[store][R13][R14]") {
  const auto under_test = make_store_under_test();
  Document ping = ping_document("db7", StoreTime{});
  SECTION("without a time") { ping = without(ping, "ping"); }
  SECTION("with a time of another type") { ping = with(ping, "ping", "1970"s); }
  SECTION("with a clock of another type") { ping = with(ping, "clock", Foreign{"an array"}); }
  under_test->put_ping(ping);
  CHECK(under_test->open()->forget_pings(std::chrono::days{4}) == 0);
  CHECK(under_test->raw_ping("db7"));
}

TEST_CASE("a ping without its time is refused", "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(taken_lock("jobs", "db7", kTheirs));
  under_test->put_ping({{"_id", "db7"s}});
  check_refused_and_unchanged(*under_test, *store, "ping");
}

TEST_CASE("dates before 1970 and after 9999 are dates", "[store][R14]") {
  const std::int64_t when = GENERATE(-62135596800000, -1, 253402300800000, 8640000000000001);
  const StoreTime time{std::chrono::milliseconds{when}};
  const auto under_test = make_store_under_test();
  under_test->put_lock(with(taken_lock("jobs", "db7", kTheirs), "when", time));
  under_test->put_ping(ping_document("db7", time));

  const Inspection seen = under_test->open()->inspect("jobs", Freshness::ordinary);
  CHECK(seen.lock->when == time);
  CHECK(seen.ping->ping == time);
}

TEST_CASE("a listing shows the good beside the malformed", "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "a");
  under_test->put_lock(with(free_lock("b"), "state", "x"s));
  held(*store, "c");
  store->ping("p");
  under_test->put_ping({{"_id", "q"s}});

  const Listing listing = store->list();
  REQUIRE(listing.locks.size() == 3);
  CHECK(listing.locks[0].record->name == "a");
  CHECK(listing.locks[0].problem.empty());
  CHECK(listing.locks[1].id == "b");
  CHECK_FALSE(listing.locks[1].record);
  CHECK_THAT(listing.locks[1].problem, Catch::Contains("\"state\""));
  CHECK(listing.locks[2].record->name == "c");
  REQUIRE(listing.pings.size() == 2);
  CHECK(listing.pings[0].record->process == "p");
  CHECK_THAT(listing.pings[1].problem, Catch::Contains("\"ping\""));
}

TEST_CASE("a malformed lock is no hold of its process", "[store][R8][R14]") {
  const auto lock = taken_lock("jobs", "holder", kTheirs);
  const auto malformed =
      GENERATE_REF(without(lock, "ts"), with(lock, "ts", "today"s), without(lock, "state"),
                   with(lock, "state", "2"s), without(lock, "process"));
  const auto under_test = make_store_under_test();
  under_test->put_lock(malformed);
  CHECK(under_test->open()->holds("holder").empty());
}

TEST_CASE("the ts and state of a lock are told whatever else its document says",
          "[store][R9][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  CHECK_FALSE(store->carried("jobs"));
  const Document sound = with(taken_lock("jobs", "db7", kTheirs), "state", std::int32_t{2});
  const auto carried = [&](const Document& document) {
    under_test->put_lock(document);
    return store->carried("jobs").value();
  };
  SECTION("of a sound document") {
    CHECK(carried(sound).ts == kTheirs);
    CHECK(carried(sound).state == LockState::taken_by_mongodb);
    CHECK(carried(with(sound, "state", std::int32_t{0})).state == LockState::free);
    CHECK_FALSE(carried(free_lock("jobs")).ts);
  }
  SECTION("where another field is malformed") {
    const auto field = GENERATE("process"s, "who"s, "why"s, "when"s, "fence"s, "takeover_after"s);
    const Carried seen = carried(with(sound, field, Foreign{"an array"}));
    CHECK(seen.ts == kTheirs);
    CHECK(seen.state == LockState::taken_by_mongodb);
    CHECK(carried(without(sound, field)).ts == kTheirs);
  }
  SECTION("where the holder's ping is malformed") {
    under_test->put_ping(with(ping_document("db7", StoreTime{}), "ping", "today"s));
    CHECK(carried(sound).ts == kTheirs);
  }
  SECTION("but what is malformed itself is left out") {
    CHECK_FALSE(carried(with(sound, "ts", "4d7f"s)).ts);
    CHECK(carried(with(sound, "ts", "4d7f"s)).state == LockState::taken_by_mongodb);
    CHECK_FALSE(carried(with(sound, "state", "2"s)).state);
    CHECK(carried(with(sound, "state", "2"s)).ts == kTheirs);
    CHECK_FALSE(carried(without(sound, "state")).state);
  }
}

TEST_CASE("a document whose _id is no string is listed, and all else works", "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(with(free_lock("7"), "_id", std::int64_t{7}));
  CHECK_FALSE(store->inspect("7", Freshness::ordinary).lock);
  held(*store, "7");
  CHECK(store->list().locks.size() == 2);
}

TEST_CASE("a listing tells the name of a document from the description of what is none",
          "[store][R14]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(with(free_lock("7"), "_id", std::int64_t{7}));
  under_test->put_ping(with(ping_document("7", StoreTime{}), "_id", std::int64_t{7}));
  const std::string description = store->list().locks.at(0).id;
  under_test->put_lock(with(free_lock(description), "state", "x"s));
  under_test->put_ping(with(ping_document(description, StoreTime{}), "ping", "x"s));
  under_test->put_lock(free_lock("a"));
  under_test->put_ping(ping_document("a", StoreTime{}));

  const auto check = [&](const auto& listed) {
    CHECK(listed.size() == 3);
    const auto count = [&](const std::string& id, bool named) {
      return std::count_if(listed.begin(), listed.end(),
                           [&](const auto& one) { return one.id == id && one.named == named; });
    };
    CHECK(count("a", true) == 1);
    CHECK(count(description, true) == 1);
    CHECK(count(description, false) == 1);
  };
  check(store->list().locks);
  check(store->list().pings);
}
