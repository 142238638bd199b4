#include <catch2/catch.hpp>

#include "contract/contract.h"
#include "distlock/error.h"
#include "distlock/line.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::string_literals;

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
