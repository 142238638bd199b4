#include "cli/status.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "cli/exit_status.h"
#include "cli/watch.h"
#include "distlock/error.h"
#include "support/fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// Looks at a store with the locks "jobs" (held), "jobs.old" (free) and "rotate" (held).
class Looker {
 public:
  Looker() {
    REQUIRE(jobs->lock_try("x"));
    REQUIRE(old->lock_try("x"));
    old->unlock();
    REQUIRE(rotate->lock_try("x"));
  }

  std::string names(const ListArguments& wanted) {
    ListArguments arguments = wanted;
    arguments.format = Format::names;
    CHECK(list(arguments, opened(), streams()) == kSuccess);
    return std::exchange(out, std::ostringstream()).str();
  }
  OpenedStore opened() { return {*observer.store, *fleet.clock, connection}; }
  WatchedStore watched() {
    return {[this] { return observer.store; }, *fleet.clock, connection};
  }
  Streams streams() { return {in, out, err}; }

  distlock::testing::Fleet fleet;
  distlock::testing::Process holder = fleet.process("holder");
  distlock::testing::Process observer = fleet.process("observer");
  std::unique_ptr<DistributedLock> jobs = holder.lock("jobs");
  std::unique_ptr<DistributedLock> old = holder.lock("jobs.old");
  std::unique_ptr<DistributedLock> rotate = holder.lock("rotate");
  ConnectionString connection{"memory:"};
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
};

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

TEST_CASE("a watch shows the list every second, also after a failure", "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  const auto start = looker.fleet.clock->steady_now();
  looker.observer.store->before("list", [&] {
    looker.observer.store->fail("list", distlock::testing::Fault::rejected);
    looker.jobs->unlock();
    looker.observer.store->before(
        "list", [&] { looker.observer.store->before("list", [&] { stop.request_stop(); }); });
  });
  CHECK(watch_list({.held = true}, looker.watched(), looker.streams(), stop.get_token()) ==
        kSuccess);
  const std::string said = looker.out.str();
  CHECK(looker.fleet.clock->steady_now() - start == 2s);
  CHECK_THAT(said, Catch::StartsWith("distlock: list rejected") && !Catch::Contains("\033") &&
                       !Catch::Contains("jobs"));
  CHECK(said.find("rotate") != said.rfind("rotate"));
}

TEST_CASE("on a terminal a watch draws over what it drew, within its height", "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  looker.observer.store->before("list", [&] { stop.request_stop(); });
  Streams streams = looker.streams();
  streams.out_width = 80;
  // 0: a terminal that does not say.
  const bool small = GENERATE(true, false);
  streams.out_height = small ? 3 : 0;
  CHECK(watch_list({}, looker.watched(), streams, stop.get_token()) == kSuccess);
  const std::string said = looker.out.str();
  CHECK_THAT(said, Catch::StartsWith("\033[2J\033[H") && Catch::EndsWith("\033[J"));
  CHECK(std::count(said.begin(), said.end(), '\n') == (small ? 2 : 7));
  CHECK((said.find("… and 6 more lines") != std::string::npos) == small);
}

TEST_CASE("a watch follows the size of its terminal", "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  TerminalSize size{80, 24};
  WatchedStore watched = looker.watched();
  watched.terminal = [&] { return size; };
  Streams streams = looker.streams();
  streams.out_width = size.width;
  streams.out_height = size.height;
  looker.observer.store->before("list", [&] {
    size = {40, 3};
    looker.observer.store->before("list", [&] {
      size = {};  // It does not say any more.
      looker.observer.store->before("list", [&] { stop.request_stop(); });
    });
  });
  CHECK(watch_list({}, watched, streams, stop.get_token()) == kSuccess);
  const std::string said = looker.out.str();
  const auto cleared = said.rfind("\033[2J");
  const auto cut = said.find(" more lines");
  CHECK(cleared != 0);
  REQUIRE(cut != std::string::npos);
  CHECK(cut > cleared);
  CHECK(said.find(" more lines", cut + 1) != std::string::npos);
}

TEST_CASE("a watch goes on until a store is there, and again where a file was replaced",
          "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  int openings = 0;
  const auto open = [&]() -> std::shared_ptr<Store> {
    ++openings;
    if (openings < 3) throw Error(Errc::not_applied, "there is no file 'x'");
    if (openings == 3) {
      looker.observer.store->fail("list", distlock::testing::Fault::rejected);
      looker.observer.store->before(
          "list", [&] { looker.observer.store->before("list", [&] { stop.request_stop(); }); });
    }
    return looker.observer.store;
  };
  // Another opening finds a member's file anew, too.
  const ConnectionString file(GENERATE("sqlite:x", "mirrored+sqlite:x,y,z"));
  const WatchedStore watched{open, *looker.fleet.clock, file};
  CHECK(watch_list({}, watched, looker.streams(), stop.get_token()) == kSuccess);
  CHECK(openings == 4);
  CHECK_THAT(looker.out.str(), Catch::StartsWith("distlock: there is no file 'x'\n\ndistlock: ") &&
                                   Catch::Contains("list rejected") && Catch::Contains("rotate"));
}

TEST_CASE("a watch ends where waiting mends nothing", "[cli][view]") {
  Looker looker;
  const auto refuse = []() -> std::shared_ptr<Store> {
    throw Error(Errc::permission_denied, "no");
  };
  const WatchedStore watched{refuse, *looker.fleet.clock, looker.connection};
  CHECK(distlock::testing::thrown_by([&] { return watch_list({}, watched, looker.streams()); }) ==
        Errc::permission_denied);
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
