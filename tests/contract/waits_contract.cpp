// A look at those who wait, for waits that can never end (R22).
#include <catch2/catch.hpp>
#include <set>

#include "contract/contract.h"
#include "contract/in_line.h"
#include "distlock/line.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

using Names = std::set<std::string>;

template <class Record>
Names names_of(const std::vector<Listed<Record>>& listed) {
  Names names;
  for (const auto& one : listed) CHECK(names.insert(one.id).second);
  return names;
}

void take(Store& store, const std::string& name, const std::string& process) {
  REQUIRE(store.claim(name, FromAbsent{}, claim_by(store, process)));
}

}  // namespace

TEST_CASE("a look at those who wait shows lines, what those in them took since, and their pings",
          "[store][line][R22]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  for (const char* process : {"holder", "a", "b", "stranger"}) store->ping(process);
  take(*store, "of a before", "a");
  take(*store, "of nobody in line", "stranger");
  held(*store, "jobs");
  wait_for_next_millisecond(*store);
  line_up(*store, {"a"});
  take(*store, "of a since", "a");
  wait_for_next_millisecond(*store);
  line_up(*store, {"b"});
  take(*store, "free", "b");
  REQUIRE(store->release("free", *store->inspect("free", Freshness::fresh).lock->ts) ==
          ReleaseResult::freed);
  take(*store, "of nobody in line since", "stranger");

  const StoreTime before = store->list().now.time;
  const Listing waits = line_of(*store).list_waits({});
  CHECK(names_of(waits.locks) == Names{"jobs", "of a since"});
  CHECK(names_of(waits.pings) == Names{"a", "b"});
  CHECK(waits.now.time >= before);
  CHECK(waits.now.clock == store->list().now.clock);
  for (const auto& lock : waits.locks) {
    REQUIRE(lock.record);
    const auto same = store->inspect(lock.id, Freshness::fresh).lock;
    CHECK(lock.record->ts == same->ts);
    CHECK(lock.record->who == same->who);
    CHECK(lock.record->when == same->when);
    CHECK(lock.record->line == same->line);
  }
}

TEST_CASE("a look at those who wait shows the locks of the names that it is given, each once",
          "[store][line][R22]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  take(*store, "named", "stranger");
  take(*store, "not named", "stranger");
  CHECK(names_of(line_of(*store).list_waits({"named", "absent"}).locks) == Names{"named"});
  held(*store, "jobs");
  line_up(*store, {"a"});
  take(*store, "of a since", "a");
  const Listing waits = line_of(*store).list_waits({"jobs", "named", "of a since", "named"});
  CHECK(names_of(waits.locks) == Names{"jobs", "named", "of a since"});
}

TEST_CASE("where nobody waits a look at those who wait shows nothing but the time",
          "[store][line][R22]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  take(*store, "jobs", "a");
  store->ping("a");
  const Listing waits = line_of(*store).list_waits({});
  CHECK(waits.locks.empty());
  CHECK(waits.pings.empty());
  CHECK(waits.now.clock == store->list().now.clock);
}

TEST_CASE("a malformed lock is a problem in a look at those who wait, and hides no other",
          "[store][line][R14][R22]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  line_up(*store, {"a"});
  under_test->put_lock(with(taken_lock("named", "b", Token{{7}}), "who", 7.0));
  under_test->put_ping(with(ping_document("a", StoreTime{}), "ping", 7.0));
  const Listing waits = line_of(*store).list_waits({"named"});
  CHECK(names_of(waits.locks) == Names{"jobs", "named"});
  for (const auto& lock : waits.locks) CHECK(lock.record.has_value() == (lock.id == "jobs"));
  REQUIRE(waits.pings.size() == 1);
  CHECK_FALSE(waits.pings.front().record);
}
