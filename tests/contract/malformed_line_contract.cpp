#include <catch2/catch.hpp>
#include <limits>

#include "contract/contract.h"
#include "contract/in_line.h"
#include "contract/wrong_types.h"
#include "distlock/error.h"
#include "distlock/line.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::string_literals;

namespace {

// Whether a request for a place in the line of "jobs" is refused with a message that names the
// field, and leaves the document alone.
void check_stands_not(StoreUnderTest& under_test, Store& store, const std::string& field) {
  const auto before = under_test.raw_lock("jobs");
  check_names_field(field, [&] { line_of(store).stand("jobs", claim_by(store, "a")); });
  CHECK(under_test.raw_lock("jobs") == before);
}

}  // namespace

TEST_CASE("a wait for a lock with a field of a wrong type is refused, and changes nothing",
          "[store][line][R14][R17]") {
  const FieldType expected = GENERATE(values<FieldType>({{"process", Type::text},
                                                         {"who", Type::text},
                                                         {"why", Type::text},
                                                         {"when", Type::date},
                                                         {"ts", Type::object_id},
                                                         {"fence", Type::int64},
                                                         {"takeover_after", Type::int64},
                                                         {"freed_at", Type::date}}));
  const std::int32_t state = GENERATE(0, 1, 2);
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  with_each_wrong_type(*under_test, expected, state,
                       [&] { check_stands_not(*under_test, *store, expected.field); });
}

TEST_CASE("a wait for a lock with a field out of its range is refused, and changes nothing",
          "[store][line][R14][R17]") {
  const std::int32_t state = GENERATE(0, 1);
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const Document lock = with(taken_lock("jobs", "db7", kTheirs), "state", state);
  const auto [field, value] =
      GENERATE(table<std::string, Value>({{"process", std::string(65'537, 'x')},
                                          {"who", std::string(65'537, 'x')},
                                          {"why", std::string(65'537, 'x')},
                                          {"state", std::int32_t{3}},
                                          {"state", 0.5},
                                          {"fence", std::int64_t{-1}},
                                          {"fence", std::numeric_limits<std::int64_t>::max()},
                                          {"takeover_after", std::int64_t{-1}}}));
  under_test->put_lock(with(lock, field, value));
  check_stands_not(*under_test, *store, field);
}

TEST_CASE("a wait for a taken lock without one of its fields is refused, and changes nothing",
          "[store][line][R14][R17]") {
  const std::string field = GENERATE("process"s, "who"s, "when"s, "why"s, "ts"s, "state"s);
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(without(taken_lock("jobs", "db7", kTheirs), field));
  check_stands_not(*under_test, *store, field);
}

TEST_CASE("a wait for a free lock without a state is refused, and changes nothing",
          "[store][line][R1][R14][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  // As a hold whose `state` and `ts` somebody has removed.
  under_test->put_lock(with(without(free_lock("jobs"), "state"), "fence", std::int64_t{41}));
  check_stands_not(*under_test, *store, "state");
}

TEST_CASE("a wait gets a free lock that has a name and a state only, or the longest text",
          "[store][line][R14][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  Document lock{{"_id", "jobs"s}, {"state", std::int32_t{0}}};
  SECTION("and no more") {}
  SECTION("and the longest text") { lock = with(lock, "why", std::string(65'536, 'x')); }
  under_test->put_lock(lock);
  CHECK(line_of(*store).stand("jobs", claim_by(*store, "a")).hold);
}

TEST_CASE("a waiter whose lock becomes malformed is told, and its mark stays as it is",
          "[store][line][R14][R17]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  const Claim claim = line_up(*store, {"a", "b"}).front();
  // The second comes first, so that the first is marked.
  Document freed = with(*under_test->raw_lock("jobs"), "state", std::int32_t{0});
  under_test->put_lock(with(freed, "freed_at", store->list().now.time - std::chrono::seconds{10}));
  REQUIRE(line_of(*store).stand("jobs", claim_by(*store, "c")).hold);
  under_test->put_lock(with(*under_test->raw_lock("jobs"), "why", std::int64_t{5}));
  if (!kept_its_type(under_test->raw_lock("jobs"), "why", std::int64_t{5})) return;
  const auto raw = under_test->raw_lock("jobs");
  CHECK(thrown_by([&] { return line_of(*store).stand("jobs", claim); }) == Errc::bad_record);
  CHECK(under_test->raw_lock("jobs") == raw);
}

TEST_CASE("a line of a wrong type is refused, and its lock goes to nobody",
          "[store][line][R14][R17]") {
  const Value value = GENERATE(values<Value>(
      {std::int32_t{7}, std::int64_t{7}, 7.5, "text"s, StoreTime{}, Token{}, Foreign{"an array"}}));
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  under_test->put_lock(with(free_lock("jobs"), "line", value));
  const auto raw = under_test->raw_lock("jobs");
  // A store that keeps lines elsewhere has no such field.
  if (!raw || field_of(*raw, "line") == nullptr) return;
  CHECK(thrown_by([&] { return store->inspect("jobs", Freshness::ordinary); }) == Errc::bad_record);
  CHECK_FALSE(store->claim("jobs", FromFree{}, claim_by(*store, "a")));
  Standing standing;
  const auto error =
      thrown_by([&] { standing = store->line()->stand("jobs", claim_by(*store, "a")); });
  CHECK(error.value_or(Errc::bad_record) == Errc::bad_record);
  CHECK_FALSE(standing.hold);
  CHECK_FALSE(standing.in_line);
  CHECK(under_test->raw_lock("jobs") == raw);
}
