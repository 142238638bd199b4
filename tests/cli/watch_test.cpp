#include "cli/watch.h"

#include <catch2/catch.hpp>
#include <functional>

#include "cli/exit_status.h"
#include "cli/looker.h"
#include "distlock/error.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;
using distlock::cli::testing::Looker;
using distlock::testing::Fault;
using distlock::testing::FaultyStore;

namespace {

/// The third opening gives the store, whose first list fails. The second list is the last.
std::function<std::shared_ptr<Store>()> opening_in_trouble(Looker& looker, std::stop_source& stop,
                                                           int& openings) {
  return [&]() -> std::shared_ptr<Store> {
    ++openings;
    if (openings < 3) throw Error(Errc::not_applied, "there is no file 'x'");
    FaultyStore& store = *looker.observer.store;
    if (openings == 3) {
      store.fail("list", Fault::rejected);
      store.before("list", [&] { store.before("list", [&] { stop.request_stop(); }); });
    }
    return looker.observer.store;
  };
}

}  // namespace

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

TEST_CASE("a watch follows its terminal where the height alone has changed", "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  TerminalSize size{80, 24};
  WatchedStore watched = looker.watched();
  watched.terminal = [&] { return size; };
  Streams streams = looker.streams();
  streams.out_width = size.width;
  streams.out_height = size.height;
  looker.observer.store->before("list", [&] {
    size.height = 3;
    looker.observer.store->before("list", [&] { stop.request_stop(); });
  });
  CHECK(watch_list({}, watched, streams, stop.get_token()) == kSuccess);
  CHECK_THAT(looker.out.str(), Catch::Contains(" more lines"));
}

TEST_CASE("a watch goes on until a store is there, and again where a file was replaced",
          "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  int openings = 0;
  const auto open = opening_in_trouble(looker, stop, openings);
  // Another opening finds a member's file anew, too.
  const ConnectionString file(GENERATE("sqlite:x", "mirrored+sqlite:x,y,z"));
  const WatchedStore watched{open, *looker.fleet.clock, file};
  CHECK(watch_list({}, watched, looker.streams(), stop.get_token()) == kSuccess);
  CHECK(openings == 4);
  CHECK_THAT(looker.out.str(), Catch::StartsWith("distlock: there is no file 'x'\n\ndistlock: ") &&
                                   Catch::Contains("list rejected") && Catch::Contains("rotate"));
}

TEST_CASE("a watch counts the rows of lines that are wider than the terminal", "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  ListArguments arguments;
  arguments.common.verbosity = Verbosity::verbose;
  Streams streams = looker.streams();
  streams.out_width = 20;
  streams.out_height = 8;
  streams.out_in_colour = GENERATE(true, false);
  looker.observer.store->before("list", [&] { stop.request_stop(); });
  CHECK(watch_list(arguments, looker.watched(), streams, stop.get_token()) == kSuccess);
  CHECK_THAT(looker.out.str(), Catch::Contains(" more lines"));
}

TEST_CASE("a frame that fits the terminal in rows is shown whole, whatever its colours",
          "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  Streams streams = looker.streams();
  streams.out_width = 80;
  streams.out_height = 8;  // Seven lines, and the cursor's own.
  streams.out_in_colour = true;
  looker.observer.store->before("list", [&] { stop.request_stop(); });
  CHECK(watch_list({}, looker.watched(), streams, stop.get_token()) == kSuccess);
  CHECK_THAT(looker.out.str(), Catch::Contains("\033[1m") && !Catch::Contains(" more lines"));
}

TEST_CASE("a watch erases nothing behind a line that fills its row", "[cli][view]") {
  Looker looker;
  const std::string full(20, 'x');
  const auto lock = looker.holder.lock(full);
  REQUIRE(lock->lock_try("x"));
  std::stop_source stop;
  ListArguments arguments;
  arguments.format = Format::names;
  Streams streams = looker.streams();
  streams.out_width = full.size();
  looker.observer.store->before("list", [&] { stop.request_stop(); });
  CHECK(watch_list(arguments, looker.watched(), streams, stop.get_token()) == kSuccess);
  CHECK_THAT(looker.out.str(),
             Catch::Contains("\033[K" + full + '\n') && Catch::Contains("rotate\033[K\n"));
}

TEST_CASE("a watch of names tells each malformed document without a name, once",
          "[cli][view][R14]") {
  Looker looker;
  looker.fleet.memory.tables.put_lock({{"_id", std::int32_t{5}}});
  std::stop_source stop;
  looker.observer.store->before(
      "list", [&] { looker.observer.store->before("list", [&] { stop.request_stop(); }); });
  ListArguments arguments;
  arguments.format = Format::names;
  Streams streams = looker.streams();
  const bool terminal = GENERATE(true, false);
  if (terminal) streams.out_width = 80;
  CHECK(watch_list(arguments, looker.watched(), streams, stop.get_token()) == kSuccess);
  const std::string said = looker.err.str();
  const std::string where = "whose _id is the 32-bit integer 5";
  if (terminal) {
    // A terminal shows it as a part of each frame, since the next would hide it.
    CHECK(said.empty());
    CHECK_THAT(looker.out.str(), Catch::Contains(where));
  } else {
    CHECK_THAT(said, Catch::Contains(where));
    CHECK(said.find(where) == said.rfind(where));
    CHECK_THAT(looker.out.str(), !Catch::Contains(where));
  }
}

TEST_CASE("an error is not among the names and the JSON that a watch writes", "[cli][view][R14]") {
  Looker looker;
  std::stop_source stop;
  int openings = 0;
  WatchedStore watched = looker.watched();
  watched.open = opening_in_trouble(looker, stop, openings);
  ListArguments arguments;
  arguments.format = GENERATE(Format::names, Format::json);
  CHECK(watch_list(arguments, watched, looker.streams(), stop.get_token()) == kSuccess);
  CHECK_THAT(looker.out.str(), Catch::Contains("rotate") && !Catch::Contains("distlock: "));
  CHECK_THAT(looker.err.str(), Catch::StartsWith("distlock: there is no file 'x'\ndistlock: ") &&
                                   Catch::Contains("list rejected"));
}

TEST_CASE("a watch of names tells a document again that was gone meanwhile", "[cli][view][R14]") {
  Looker looker;
  const auto put = [&] { looker.fleet.memory.tables.put_lock({{"_id", std::int32_t{5}}}); };
  const auto at_next_list = [&](const std::function<void()>& act) {
    looker.observer.store->before("list", act);
  };
  put();
  std::stop_source stop;
  const std::function<void()> third = [&] {
    put();
    stop.request_stop();
  };
  const std::function<void()> second = [&] {
    looker.fleet.memory.tables.clear();
    at_next_list(third);
  };
  at_next_list([&] { at_next_list(second); });
  ListArguments arguments;
  arguments.format = Format::names;
  const Streams streams = looker.streams();
  CHECK(watch_list(arguments, looker.watched(), streams, stop.get_token()) == kSuccess);
  const std::string said = looker.err.str();
  const std::string where = "whose _id is the 32-bit integer 5";
  CHECK_THAT(said, Catch::Contains(where));
  CHECK(said.find(where) != said.rfind(where));
}

namespace {

/// Counts how often what was written is handed on.
class CountingBuffer : public std::stringbuf {
 public:
  int handed_on = 0;

 protected:
  int sync() override {
    ++handed_on;
    return std::stringbuf::sync();
  }
};

}  // namespace

TEST_CASE("a watch hands each list on at once, also to a program", "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  looker.observer.store->before(
      "list", [&] { looker.observer.store->before("list", [&] { stop.request_stop(); }); });
  CountingBuffer buffer;
  std::ostream out(&buffer);
  const Streams streams{looker.in, out, looker.err};
  CHECK(watch_list({}, looker.watched(), streams, stop.get_token()) == kSuccess);
  CHECK(buffer.handed_on == 2);
}

TEST_CASE("the table of a watch fits a narrow terminal as that of a list does", "[cli][view]") {
  Looker looker;
  std::stop_source stop;
  looker.observer.store->before("list", [&] { stop.request_stop(); });
  Streams streams = looker.streams();
  streams.out_width = 40;
  CHECK(watch_list({}, looker.watched(), streams, stop.get_token()) == kSuccess);
  CHECK_THAT(looker.out.str(), Catch::Contains("without PING PID FOR; -v has all"));
}
