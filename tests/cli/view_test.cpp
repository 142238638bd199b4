#include "cli/view.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/view_json.h"
#include "cli/view_text.h"
#include "distlock/error.h"
#include "stores/memory/memory_store.h"
#include "support/fleet.h"
#include "support/manual_clock.h"

using namespace distlock;
using namespace distlock::cli;
using distlock::testing::Fault;
using distlock::testing::FaultyStore;
using distlock::testing::Fleet;
using namespace std::chrono_literals;

namespace {

using How = Takeover::How;

constexpr Token kToken{{0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}};

/// A store in which other programs may have written anything.
class Scene {
 public:
  StoreTime now() { return store_.store->list().now.time; }

  void hold(const std::string& name, const std::string& process,
            std::optional<std::int64_t> takeover_after = 2000, LockState state = LockState::taken) {
    Document document{{"_id", name},
                      {"state", static_cast<std::int32_t>(state)},
                      {"process", process},
                      {"who", process + ":main:1"},
                      {"why", std::string("testing")},
                      {"when", now() - 61s},
                      {"ts", kToken},
                      {"fence", std::int64_t{7}}};
    if (takeover_after) document.emplace_back("takeover_after", *takeover_after);
    store_.tables.put_lock(document);
  }

  void ping(const std::string& process, std::chrono::milliseconds age,
            const std::optional<std::string>& by = "memory") {
    Document document{{"_id", process}, {"ping", now() - age}};
    if (by) document.emplace_back("clock", *by);
    store_.tables.put_ping(document);
  }

  MemoryTables& tables() { return store_.tables; }

  View all(std::optional<std::chrono::milliseconds> takeover_after = {}) {
    return view_all({*store_.store, *clock_, connection_, takeover_after});
  }
  View one(const std::string& name) {
    return view_one({*store_.store, *clock_, connection_, {}}, name);
  }

 private:
  std::shared_ptr<distlock::testing::ManualClock> clock_ =
      std::make_shared<distlock::testing::ManualClock>();
  OpenedMemoryStore store_ = open_memory_store(clock_, {});
  ConnectionString connection_{"memory:"};
};

std::string listed(const View& view) {
  std::ostringstream out;
  print_list(out, view, false);
  return out.str();
}

nlohmann::json as_json(const View& view) {
  std::ostringstream out;
  print_json(out, view);
  return nlohmann::json::parse(out.str());
}

}  // namespace

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
  CHECK(as_json(scene.all())["locks"][0]["ping"]["age_ms"].is_null());
}

TEST_CASE("a ping later than now is said to be a skew", "[cli][view][R4]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", -1min);
  CHECK(scene.all().locks.front().takeover.how == How::clock_skew);
}

TEST_CASE("a free lock shows its last holder and needs no takeover", "[cli][view]") {
  Scene scene;
  scene.tables().put_lock({{"_id", std::string("jobs")},
                           {"state", std::int32_t{0}},
                           {"process", std::string("p")},
                           {"who", std::string("p:1:2")},
                           {"why", std::string("testing")},
                           {"when", scene.now()},
                           {"ts", kToken}});
  const View view = scene.all();
  CHECK(view.locks.front().takeover.how == How::not_needed);
  std::ostringstream out;
  print_list(out, view, true);
  CHECK_THAT(out.str(), Catch::Contains("free") && Catch::Contains("\033[2mp\033[0m"));
}

TEST_CASE("a lock that nobody ever claimed is free", "[cli][view]") {
  Scene scene;
  const View view = scene.one("nightly");
  CHECK_FALSE(view.malformed());
  std::ostringstream out;
  print_lock(out, view.locks.front(), view.now, false);
  CHECK(out.str() == "nightly: free\n");
}

TEST_CASE("malformed documents are listed with their problem", "[cli][view][R14]") {
  Scene scene;
  scene.tables().put_lock({{"_id", std::string("bad")}, {"state", std::int32_t{9}}});
  scene.hold("jobs", "p");
  scene.tables().put_ping({{"_id", std::string("p")}, {"ping", std::string("yesterday")}});

  const View view = scene.all();
  CHECK(view.malformed());
  CHECK_THAT(listed(view), Catch::Contains("malformed") && Catch::Contains("state"));
  CHECK_FALSE(as_json(view)["locks"][0]["problem"].get<std::string>().empty());
  CHECK_FALSE(as_json(view)["pings"][0]["problem"].get<std::string>().empty());
  CHECK(view.locks.back().takeover.how == How::malformed_ping);
  CHECK(scene.one("bad").malformed());
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
    CHECK_THROWS_AS(view_all(observer), Error);
  }
}

TEST_CASE("a hold of MongoDB's own lock manager is said to be one", "[cli][view][R14]") {
  Scene scene;
  scene.hold("jobs", "p", {}, LockState::taken_by_mongodb);
  CHECK_THAT(listed(scene.all()), Catch::Contains("taken (MongoDB)"));
  CHECK(as_json(scene.all())["locks"][0]["state"] == "taken_by_mongodb");
}

TEST_CASE("absurd dates are shown, not stumbled over", "[cli][view]") {
  Scene scene;
  for (const StoreTime when : {StoreTime::min(), StoreTime::max()}) {
    scene.tables().put_lock({{"_id", std::string("jobs")},
                             {"state", std::int32_t{1}},
                             {"process", std::string("p")},
                             {"who", std::string("w")},
                             {"why", std::string()},
                             {"when", when},
                             {"ts", kToken},
                             {"takeover_after", std::int64_t{INT64_MAX}}});
    scene.tables().put_ping({{"_id", std::string("p")}, {"ping", when}});
    CHECK_FALSE(listed(scene.all()).empty());
    CHECK(as_json(scene.all())["locks"][0]["when_ms"] == when.time_since_epoch().count());
  }
}

TEST_CASE("names cannot steer the terminal", "[cli][view]") {
  Scene scene;
  scene.hold("a\033[2Jb", "p\nq");
  CHECK_THAT(listed(scene.all()), !Catch::Contains("\033") && Catch::Contains("\\x1b[2Jb"));
}

TEST_CASE("JSON has a hold whole, times twice", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", 500ms);
  const auto json = as_json(scene.all());
  CHECK(json["store"] == "memory:");
  CHECK(json["clock"] == "memory");
  const auto& lock = json["locks"][0];
  CHECK(lock["name"] == "jobs");
  CHECK(lock["state"] == "taken");
  CHECK(lock["ts"] == "ab0102030405060708090a0b");
  CHECK(lock["fence"] == 7);
  CHECK(lock["held_ms"] == 61'000);
  CHECK(lock["when_ms"].get<std::int64_t>() == json["now_ms"].get<std::int64_t>() - 61'000);
  CHECK(lock["takeover"]["how"] == "later");
  CHECK(lock["takeover"]["in_ms"] == 1500);
  CHECK(lock["takeover"]["at_ms"].get<std::int64_t>() == json["now_ms"].get<std::int64_t>() + 1500);
  CHECK(json["pings"][0]["holds"] == 1);
  CHECK(json["pings"][0]["age_ms"] == 500);
}
