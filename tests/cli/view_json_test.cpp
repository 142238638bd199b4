// Locks and pings as JSON.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <set>
#include <sstream>

#include "cli/scene.h"
#include "cli/view_cells.h"
#include "cli/view_text.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

TEST_CASE("JSON gives no name to a document whose id is none", "[cli][view][R14]") {
  Scene scene;
  scene.tables().put_lock({{"_id", std::int32_t{5}}});
  scene.tables().put_ping({{"_id", std::int32_t{5}}});
  scene.tables().put_lock({{"_id", std::string("odd")}});
  const auto json = as_json(scene.all());
  CHECK(json["locks"][0]["name"] == "odd");
  CHECK(json["locks"][1]["name"].is_null());
  CHECK(json["locks"][1]["problem"].get<std::string>().find("integer 5") != std::string::npos);
  CHECK(json["pings"][0]["process"].is_null());
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

TEST_CASE("JSON has the window that a holder states, whatever a contender would wait",
          "[cli][view][R6]") {
  Scene scene;
  scene.hold("jobs", "p", 2000);
  CHECK(as_json(scene.all(1min))["locks"][0]["takeover_after_ms"] == 2000);
  scene.hold("jobs", "p", std::nullopt);
  CHECK(as_json(scene.all(1min))["locks"][0]["takeover_after_ms"].is_null());
}

TEST_CASE("JSON says since when a waiter stands in line", "[cli][view][R17]") {
  Scene scene;
  scene.hold("jobs", "p");
  Document lock = *scene.tables().raw_lock("jobs");
  const StoreTime since = scene.now() - 65s;
  const StoreTime passed_over = scene.now() - 2s;
  const Waiter waiter{Token{{1}}, "db8:18:43", "db8:18:43:thread1:7", since, passed_over};
  lock.emplace_back("line", std::vector<Waiter>{waiter});
  scene.tables().put_lock(lock);
  const auto line = as_json(scene.all())["locks"][0]["line"];
  REQUIRE(line.size() == 1);
  CHECK(line[0]["since_ms"] == since.time_since_epoch().count());
  CHECK(line[0]["passed_over_ms"] == passed_over.time_since_epoch().count());
}

TEST_CASE("JSON is in ASCII, whatever others have stored", "[cli][view][R14]") {
  Scene scene;
  const std::string name = "gr\xc3\xb6\xc3\x9f \xc2\x9b[2J \xe2\x80\xae";
  scene.hold(name, "p");
  std::ostringstream out;
  print_json(out, scene.all());
  const std::string text = out.str();
  CHECK(std::all_of(text.begin(), text.end(),
                    [](char byte) { return static_cast<unsigned char>(byte) < 0x80U; }));
  CHECK(nlohmann::json::parse(text)["locks"][0]["name"] == name);
}
