#include "cli/status.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cli/exit_status.h"
#include "cli/looker.h"
#include "cli/pattern.h"

using namespace distlock;
using namespace distlock::cli;
using distlock::cli::testing::Looker;

namespace {

/// So many characters beyond ASCII, each of them once.
std::string characters(int number) {
  std::string text;
  for (int i = 0; i < number; ++i) {
    text += '\xe4';
    text += static_cast<char>(0xb8 + i / 64);
    text += static_cast<char>(0x80 + i % 64);
  }
  return text;
}

}  // namespace

TEST_CASE("a list is of all locks, those held, or those of a pattern", "[cli][view]") {
  Looker looker;
  CHECK(looker.names({}) == "jobs\njobs.old\nrotate\n");
  CHECK(looker.names({.held = true}) == "jobs\nrotate\n");
  CHECK(looker.names({.pattern = "jobs*"}) == "jobs\njobs.old\n");
  CHECK(looker.names({.pattern = "jobs*", .held = true}) == "jobs\n");
  CHECK(looker.names({.pattern = "[a-k]obs"}) == "jobs\n");
  CHECK(looker.names({.pattern = "rot"}).empty());
}

TEST_CASE("a pattern treats no character of a name as a shell treats it in a path", "[cli][view]") {
  Looker looker;
  const auto path = looker.holder.lock("jobs/nightly");
  const auto hidden = looker.holder.lock(".jobs");
  REQUIRE(path->lock_try("x"));
  REQUIRE(hidden->lock_try("x"));
  CHECK(looker.names({.pattern = "*jobs*"}) == ".jobs\njobs\njobs.old\njobs/nightly\n");
  CHECK(looker.names({.pattern = "jobs?nightly"}) == "jobs/nightly\n");
}

TEST_CASE("a pattern matches the characters of a name", "[cli][view]") {
  Looker looker;
  const auto sizes = looker.holder.lock("größe");
  REQUIRE(sizes->lock_try("x"));
  CHECK(looker.names({.pattern = "gr??e"}) == "größe\n");
  CHECK(looker.names({.pattern = "gr[ä-ü]ße"}) == "größe\n");
  CHECK(looker.names({.pattern = "gr[à-ä]ße"}).empty());
  CHECK(looker.names({.pattern = "gr[!ö]ße"}).empty());
  CHECK(looker.names({.pattern = "*\\ß*"}) == "größe\n");
  CHECK(looker.names({.pattern = "gr????e"}).empty());
}

TEST_CASE("a pattern matches the bytes of a name or a pattern that is not UTF-8", "[cli][view]") {
  Looker looker;
  for (const char* const name : {"x\xff", "xö"}) {
    looker.fleet.memory.tables.put_lock({{"_id", std::string(name)}, {"state", std::int32_t{0}}});
  }
  ListArguments arguments;
  arguments.format = Format::names;
  const auto listed = [&](const char* pattern) {
    arguments.pattern = pattern;
    (void)list(arguments, looker.opened(), looker.streams());
    return std::exchange(looker.out, std::ostringstream()).str();
  };
  CHECK(listed("x[!a-z]") == "xö\nx\\xff\n");
  CHECK(listed("x\xff") == "x\\xff\n");
  CHECK(listed("x\xc3?") == "xö\n");
}

TEST_CASE("a pattern matches names to their end, whatever is in them", "[cli][view][R14]") {
  const std::string name("a\0b", 3);
  CHECK_FALSE(matches("a", name));
  CHECK(matches("a?b", name));
  CHECK(matches("a*", name));
  CHECK_FALSE(matches("a[b-\u00f6]b", name));
  CHECK_FALSE(matches("a", name + '\xff'));
}

TEST_CASE("a pattern of very many characters matches these alone", "[cli][view][R14]") {
  Looker looker;
  const std::string name = characters(150);
  const auto lock = looker.holder.lock(name);
  REQUIRE(lock->lock_try("x"));
  CHECK(looker.names({.pattern = name}) == name + '\n');
  CHECK(looker.names({.pattern = characters(200)}).empty());
}

TEST_CASE("a list of names has none of a document whose id is no name", "[cli][view][R14]") {
  Looker looker;
  looker.fleet.memory.tables.put_lock({{"_id", std::int32_t{5}}});
  looker.fleet.memory.tables.put_lock({{"state", std::int32_t{0}}});
  const std::string quoted = "whose _id is \"5\"";
  looker.fleet.memory.tables.put_lock({{"_id", quoted}, {"state", std::string("1")}});
  ListArguments arguments;
  arguments.format = Format::names;
  CHECK(list(arguments, looker.opened(), looker.streams()) == kMalformed);
  CHECK(looker.out.str() == "jobs\njobs.old\nrotate\nwhose _id is \"5\"\n");
  CHECK_THAT(looker.err.str(), Catch::Contains("whose _id is the 32-bit integer 5") &&
                                   Catch::Contains("without _id"));
}

TEST_CASE("a pattern matches names, and no description of what is none", "[cli][view][R14]") {
  Looker looker;
  looker.fleet.memory.tables.put_lock({{"_id", std::int32_t{5}}});
  ListArguments arguments;
  arguments.pattern = "*5";
  CHECK(list(arguments, looker.opened(), looker.streams()) == kSuccess);
  CHECK(looker.out.str() == "no such lock\n");
  CHECK(looker.err.str().empty());
}

TEST_CASE("a list of names alone cannot steer the terminal", "[cli][view]") {
  Looker looker;
  REQUIRE(looker.holder.lock("a\033[2J")->lock_try("x"));
  CHECK(looker.names({.pattern = "a*"}) == "a\\x1b[2J\n");
}

TEST_CASE("a list of some locks has no pings", "[cli][view]") {
  Looker looker;
  CHECK(list({.held = true}, looker.opened(), looker.streams()) == kSuccess);
  CHECK_THAT(looker.out.str(), Catch::Contains("rotate") && !Catch::Contains("PROCESS"));
  CHECK(list({}, looker.opened(), looker.streams()) == kSuccess);
  CHECK_THAT(looker.out.str(), Catch::Contains("PROCESS"));
}

TEST_CASE("an empty list says what there is none of", "[cli][view]") {
  Looker looker;
  const auto said = [&](const ListArguments& arguments) {
    CHECK(list(arguments, looker.opened(), looker.streams()) == kSuccess);
    return std::exchange(looker.out, std::ostringstream()).str();
  };
  CHECK(said({.pattern = "nothing"}) == "no such lock\n");
  CHECK(said({.pattern = "nothing", .held = true}) == "no such lock\n");
  CHECK(said({.pattern = "jobs.*", .held = true}) == "no such lock is held\n");
  looker.jobs->unlock();
  looker.rotate->unlock();
  CHECK(said({.held = true}) == "no lock is held\n");
}

TEST_CASE("status and list judge a takeover by the window that they are given", "[cli][view][R6]") {
  Looker looker;
  const ContenderWindow hours{.takeover_after = std::chrono::hours{2}, .unstated_window = {}};
  const auto window_shown = [&] {
    const std::string text = std::exchange(looker.out, std::ostringstream()).str();
    return nlohmann::json::parse(text)["locks"][0]["takeover"]["window_ms"];
  };
  CHECK(list({.format = Format::json, .window = hours}, looker.opened(), looker.streams()) ==
        kSuccess);
  CHECK(window_shown() == 7'200'000);
  for (const std::optional<std::string>& lock : {std::optional<std::string>("jobs"), {}}) {
    CHECK(status({.lock = lock, .format = Format::json, .window = hours}, looker.opened(),
                 looker.streams()) == kSuccess);
    CHECK(window_shown() == 7'200'000);
  }
}

TEST_CASE("a malformed lock counts as held in a list of those", "[cli][view][R14]") {
  Looker looker;
  looker.fleet.memory.tables.put_lock({{"_id", std::string("odd")}, {"state", std::string("1")}});
  ListArguments arguments;
  arguments.held = true;
  arguments.format = Format::names;
  CHECK(list(arguments, looker.opened(), looker.streams()) == kMalformed);
  CHECK(looker.out.str() == "jobs\nodd\nrotate\n");
}

TEST_CASE("a malformed ping is a status of its own, also where no ping is shown",
          "[cli][view][R14]") {
  Looker looker;
  CHECK(status({}, looker.opened(), looker.streams()) == kSuccess);
  looker.fleet.memory.tables.put_ping({{"_id", std::string("odd")}, {"ping", std::string("now")}});
  CHECK(status({}, looker.opened(), looker.streams()) == kMalformed);
  CHECK(looker.err.str().find("odd") != std::string::npos);
}

TEST_CASE("a list of some locks tells a malformed ping of their holders alone",
          "[cli][view][R14]") {
  Looker looker;
  const auto holder = looker.opened().store.inspect("jobs", Freshness::fresh).lock->process;
  looker.fleet.memory.tables.put_ping({{"_id", std::string("odd")}, {"ping", std::string("now")}});
  ListArguments held;
  held.held = true;
  CHECK(list(held, looker.opened(), looker.streams()) == kSuccess);
  looker.fleet.memory.tables.put_ping({{"_id", holder}, {"ping", std::string("now")}});
  ListArguments some;
  some.pattern = "jobs";
  for (ListArguments arguments : {held, some}) {
    looker.err.str("");
    looker.out.str("");
    arguments.format = Format::json;
    CHECK(list(arguments, looker.opened(), looker.streams()) == kMalformed);
    CHECK_THAT(looker.err.str(), Catch::Contains("lockpings") && !Catch::Contains("odd"));
    CHECK(nlohmann::json::parse(looker.out.str())["pings"].size() == 1);
  }
  some.pattern = "jobs.old";
  CHECK(list(some, looker.opened(), looker.streams()) == kSuccess);
}

TEST_CASE("list and status fit the width of their terminal, whatever its height", "[cli][view]") {
  Looker looker;
  Streams streams = looker.streams();
  const auto shown = [&](bool of_list) {
    CHECK((of_list ? list({}, looker.opened(), streams) : status({}, looker.opened(), streams)) ==
          kSuccess);
    return std::exchange(looker.out, std::ostringstream()).str();
  };
  const bool of_list = GENERATE(true, false);
  streams.out_width = 40;
  streams.out_height = 200;
  CHECK_THAT(shown(of_list), Catch::Contains("without PING PID FOR; -v has all"));
  streams.out_width = 200;
  streams.out_height = 40;
  CHECK_THAT(shown(of_list), Catch::Contains("PING") && !Catch::Contains("without"));
}

TEST_CASE("a status of all locks has no pings in JSON, and tells a malformed one once",
          "[cli][view][R14]") {
  Looker looker;
  looker.fleet.memory.tables.put_ping({{"_id", std::string("odd")}, {"ping", std::string("now")}});
  CHECK(status({.format = Format::json}, looker.opened(), looker.streams()) == kMalformed);
  CHECK(nlohmann::json::parse(looker.out.str())["pings"].empty());
  const std::string said = looker.err.str();
  CHECK(std::count(said.begin(), said.end(), '\n') == 1);
}
