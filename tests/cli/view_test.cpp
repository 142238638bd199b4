#include "cli/view.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "cli/scene.h"
#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

TEST_CASE("a hold can be taken over once its holder was silent for its window", "[cli][view][R6]") {
  Scene scene;
  scene.hold("jobs", "p");

  scene.ping("p", 1500ms);
  CHECK(scene.one("jobs").locks.front().takeover.how == How::later);
  CHECK(scene.one("jobs").locks.front().takeover.in == 500ms);
  CHECK_THAT(listed(scene.all()), Catch::Contains("1s ago") && Catch::Contains("in 500ms"));

  scene.ping("p", 2000ms);
  CHECK(scene.one("jobs").locks.front().takeover.how == How::now);
}

TEST_CASE("the larger window counts, the contender's or the holder's", "[cli][view][R6]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", 3s);
  CHECK(scene.all(1s).locks.front().takeover.how == How::now);
  CHECK(scene.all(5s).locks.front().takeover.in == 2s);
}

TEST_CASE("a takeover is promised for the window of a run, and told for the holder's own too",
          "[cli][view][R6]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", 1500ms);
  const View view = scene.all_by(ContenderWindow{});
  CHECK(view.locks.front().takeover.in == 58500ms);
  CHECK(view.locks.front().by_own_window.in == 500ms);
  CHECK_THAT(listed(view), Catch::Contains("in 58s for a window of 1m; "
                                           "in 500ms for the holder's own of 2s"));
  std::ostringstream brief;
  print_list(brief, view, {});
  CHECK_THAT(brief.str(), Catch::Contains("in 58s    testing"));

  scene.hold("jobs", "p", std::nullopt);
  CHECK(scene.all_by(ContenderWindow{}).locks.front().takeover.window == 16min);
  CHECK_THAT(listed(scene.all_by(ContenderWindow{})), !Catch::Contains("for a window"));
}

TEST_CASE("a hold that states no window is judged by the default one", "[cli][view][R6]") {
  Scene scene;
  scene.hold("jobs", "p", std::nullopt);
  scene.ping("p", 1min, std::nullopt);
  CHECK(scene.all().locks.front().takeover.in == 15min);
}

TEST_CASE("a hold without a ping waits for an operator", "[cli][view][R7]") {
  Scene scene;
  scene.hold("jobs", "p");
  CHECK(scene.all().locks.front().takeover.how == How::never);
  CHECK_THAT(listed(scene.all()), Catch::Contains("never by itself: distlock break"));
}

TEST_CASE("a ping by another clock is not compared with now", "[cli][view][R4]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", 1h, "elsewhere");
  CHECK(scene.all().locks.front().takeover.how == How::by_watching);
  CHECK_THAT(listed(scene.all()), Catch::Contains("by watching for 2s"));
  CHECK_THAT(listed(scene.all()), Catch::Contains("by another clock  by watching"));
  CHECK_THAT(listed(scene.all()), Catch::Contains("\np        -     1 "));  // Among the pings.
  CHECK(as_json(scene.all())["locks"][0]["ping"]["age_ms"].is_null());
}

TEST_CASE("a ping later than now is said to be a skew", "[cli][view][R4]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", -1min);
  CHECK(scene.all().locks.front().takeover.how == How::clock_skew);
}

// MongoDB's clocks can be stepped, so their time is compared with this host's.
TEST_CASE("a takeover that a skew of the clocks will refuse is not promised", "[cli][view][R5]") {
  class Stepped : public FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    Inspection inspect(std::string_view name, Freshness freshness) override {
      Inspection seen = FaultyStore::inspect(name, freshness);
      if (seen.now) seen.now = moved(*seen.now);
      if (seen.ping) seen.ping->ping += off;
      return seen;
    }
    Listing list() override {
      Listing listing = FaultyStore::list();
      listing.now = moved(listing.now);
      for (auto& ping : listing.pings) ping.record->ping += off;
      return listing;
    }
    StoreNow moved(StoreNow now) const { return {now.time + off, now.clock, false}; }
    std::chrono::milliseconds off{};
  };
  Fleet fleet;
  const auto lock = fleet.process("p").lock("jobs", {.takeover_after = 160s});
  REQUIRE(lock->lock_try("x"));
  Stepped store(fleet.store);
  const ConnectionString connection("memory:");
  const Observer observer{store, *fleet.clock, connection, {}};
  // A sixteenth of the window is let pass.
  const auto how_at = [&](std::chrono::milliseconds off) {
    store.off = off;
    CHECK(view_one(observer, "jobs").locks.front().takeover.how ==
          view_all(observer).locks.front().takeover.how);
    return view_all(observer).locks.front().takeover.how;
  };
  CHECK(how_at(10s) == How::later);
  CHECK(how_at(10s + 1ms) == How::clock_skew);
  CHECK(how_at(-10s - 1ms) == How::clock_skew);
}

TEST_CASE("a lock whose holder's ping is malformed is shown with what is wrong",
          "[cli][view][R14]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.hold("others", "q");
  scene.ping("q", 1s);
  scene.tables().put_ping({{"_id", std::string("p")}, {"ping", std::string("yesterday")}});

  const View view = scene.one("jobs");
  REQUIRE(view.locks.size() == 1);
  CHECK(view.locks.front().record->process == "p");
  CHECK(view.locks.front().takeover.how == How::malformed_ping);
  REQUIRE(view.pings.size() == 1);
  CHECK_FALSE(view.pings.front().problem.empty());
  CHECK(view.malformed());
  CHECK_FALSE(scene.one("others").malformed());
}

TEST_CASE("the description of an id that is no name belongs to no lock and no process",
          "[cli][view][R14]") {
  Scene scene;
  const std::string description = "whose _id is the 32-bit integer 5";
  scene.tables().put_lock({{"_id", std::int32_t{5}}});
  scene.tables().put_ping({{"_id", std::int32_t{5}}});
  scene.tables().put_ping({{"_id", std::int32_t{5}}});
  scene.hold("jobs", description);
  CHECK(scene.one("jobs").locks.front().takeover.how == How::never);

  const View view = scene.all();
  CHECK(view.locks.front().takeover.how == How::never);
  REQUIRE(view.pings.size() == 2);
  CHECK(view.pings.front().holds == 0);

  scene.hold(description, "p");
  scene.tables().put_ping({{"_id", std::string("p")}, {"ping", std::string("yesterday")}});
  const View one = scene.one(description);
  REQUIRE(one.locks.size() == 1);
  CHECK(one.locks.front().record);
  CHECK(one.pings.size() == 1);
}

// MongoDB gives locks and pings by two commands.
TEST_CASE("a holder that came or left while its ping was listed is looked at alone",
          "[cli][view][R6]") {
  class Between : public FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    Listing list() override {
      Listing listing = FaultyStore::list();
      listing.pings.clear();
      return listing;
    }
  };
  Fleet fleet;
  const auto holder = fleet.process("p");
  const auto lock = holder.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  Between store(fleet.store);
  const ConnectionString connection("memory:");
  const Observer observer{store, *fleet.clock, connection, {}};

  SECTION("and shown with its ping") {
    const View view = view_all(observer);
    CHECK(view.locks.front().takeover.how == How::later);
    REQUIRE(view.locks.front().ping);
    CHECK(view.locks.front().ping->process == "p");
  }
  SECTION("which may be malformed by then") {
    fleet.memory.tables.put_ping({{"_id", std::string("p")}, {"ping", std::string("yesterday")}});
    CHECK(view_all(observer).locks.front().takeover.how == How::never);
  }
  SECTION("or not to be had") {
    store.fail("inspect", Fault::rejected);
    CHECK(thrown_by([&] { return view_all(observer); }) == Errc::not_applied);
  }
}

TEST_CASE("JSON tells of a lock, its line and a deadlock also where their texts are no UTF-8",
          "[cli][view][R14]") {
  Scene scene;
  const std::string strange = "a\xff";
  scene.hold(strange, strange, 2000, LockState::taken, ":t\xff/pid1/u\xff:9");
  scene.ping(strange, 1s, strange);
  const Claim again{.process = strange,
                    .who = strange + ":t\xff/pid1/u\xff:8",
                    .why = strange,
                    .ts = Token{{7}},
                    .takeover_after = 2s,
                    .cutoff = {scene.now() + 1h, "memory"}};
  REQUIRE(scene.store().line()->stand(strange, again).in_line);
  const auto json = as_json(scene.all());
  const auto lock = json["locks"][0];
  CHECK(lock["name"] == "a\\xff");
  CHECK(lock["process"] == "a\\xff");
  CHECK(lock["who"] == "a\\xff:t\\xff/pid1/u\\xff:9");
  CHECK(lock["host"] == "a\\xff");
  CHECK(lock["user"] == "u\\xff");
  CHECK(lock["line"][0]["process"] == "a\\xff");
  CHECK(lock["line"][0]["who"] == "a\\xff:t\\xff/pid1/u\\xff:8");
  const auto cycle = json["deadlocks"][0];
  REQUIRE(cycle.size() == 1);
  CHECK(cycle[0]["lock"] == "a\\xff");
  CHECK(cycle[0]["waiter"] == "a\\xff:t\\xff/pid1/u\\xff:8");
  CHECK(cycle[0]["holder"] == "a\\xff:t\\xff/pid1/u\\xff:9");
  CHECK(json["pings"][0]["process"] == "a\\xff");
  CHECK(json["pings"][0]["clock"] == "a\\xff");
}

// As another program's document may say, or one by a clock that was set back since.
TEST_CASE("a wait that begins in the future has lasted for no time", "[cli][view][R14][R17]") {
  Scene scene;
  scene.hold("jobs", "db7:17:42", 2000, LockState::taken, ":thread3/pid4711/ann:99");
  const StoreTime future = scene.now() + GENERATE(1s, 24h * 365 * 8000);
  const Waiter waiter{Token{{1}}, "db8:18:43", "db8:18:43:thread1/pid12/bob:7", future, future};
  Document lock = *scene.tables().raw_lock("jobs");
  lock.emplace_back("line", std::vector<Waiter>{waiter});
  scene.tables().put_lock(lock);

  std::ostringstream list;
  print_list(list, scene.all(), {});
  CHECK_THAT(list.str(), Catch::Contains("jobs  away   bob@db8  12   0ms\n"));
  std::ostringstream one;
  print_lock(one, scene.one("jobs"), {});
  CHECK_THAT(one.str(), Catch::Contains("process 12, for 0ms, passed over 0ms ago\n"));
  CHECK(as_json(scene.all())["locks"][0]["line"][0]["waiting_ms"] == 0);
}

TEST_CASE("a lock that a process has freed is none of its holds", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.hold("old", "p", 2000, LockState::free);
  scene.ping("p", 1s);
  const View view = scene.all();
  REQUIRE(view.pings.size() == 1);
  CHECK(view.pings.front().holds == 1);
}
