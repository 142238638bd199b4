#include "cli/run_arguments.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "cli/parsed.h"

using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

TEST_CASE("run takes a lock and a command, with and without --", "[cli][arguments]") {
  const Words command = {"sh", "-c", "exit 3"};
  for (const Words& words : {Words{"run", "nightly", "--", "sh", "-c", "exit 3"},
                             Words{"run", "nightly", "sh", "-c", "exit 3"},
                             Words{"run", "-w", "5", "nightly", "--", "sh", "-c", "exit 3"},
                             Words{"run", "nightly", "-w", "5", "sh", "-c", "exit 3"}}) {
    const auto run = parse_as<RunArguments>(words);
    CHECK(run.lock == "nightly");
    CHECK(run.command == command);
  }
}

TEST_CASE("the command's own options and -- stay the command's", "[cli][arguments]") {
  CHECK(parse_as<RunArguments>({"run", "n", "ls", "-n", "--json", "--help"}).command ==
        Words{"ls", "-n", "--json", "--help"});
  CHECK(parse_as<RunArguments>({"run", "n", "git", "checkout", "--", "file"}).command ==
        Words{"git", "checkout", "--", "file"});
  CHECK(parse_as<RunArguments>({"run", "n", "--", "git", "checkout", "--", "file"}).command ==
        Words{"git", "checkout", "--", "file"});
  CHECK(parse_as<RunArguments>({"run", "list", "--", "status"}).lock == "list");
  CHECK(parse_as<RunArguments>({"run", "--", "n", "true"}).lock == "n");
  CHECK(parse_as<RunArguments>({"run", "n", "-q", "--", "-n"}).command == Words{"-n"});
  CHECK_THAT(help_of("run"), Catch::Contains("at COMMAND, or at --: all later words are"));
}

TEST_CASE("by default run ends its command with SIGTERM first when the lock is lost",
          "[cli][arguments]") {
  const auto plain = parse_as<RunArguments>({"run", "n", "true"});
  CHECK_FALSE(plain.grace);
  CHECK(plain.on_loss == OnLoss::terminate);
  const auto told =
      parse_as<RunArguments>({"run", "--grace", "0", "n", "true"},
                             {{"DISTLOCK_GRACE", "9s"}, {"DISTLOCK_ON_LOSS", "kill"}});
  CHECK(told.grace == 0ms);
  CHECK(told.on_loss == OnLoss::kill);
  const auto gently = parse_as<RunArguments>({"run", "--on-loss", "term", "n", "true"},
                                             {{"DISTLOCK_ON_LOSS", "kill"}});
  CHECK(gently.on_loss == OnLoss::terminate);
  CHECK(parse_as<RunArguments>({"run", "--on-loss=ignore", "n", "true"}).on_loss == OnLoss::ignore);
  CHECK_THAT(problem({"run", "--on-loss", "cry", "n", "true"}),
             Catch::Contains("term, kill, ignore"));
}

TEST_CASE("by default run waits for ever", "[cli][arguments]") {
  CHECK_FALSE(parse_as<RunArguments>({"run", "n", "true"}).wait);
  CHECK(parse_as<RunArguments>({"run", "-n", "n", "true"}).wait == 0ms);
  CHECK(parse_as<RunArguments>({"run", "--wait=1.5s", "n", "true"}).wait == 1500ms);
  CHECK(parse_as<RunArguments>({"run", "n", "true"}, {{"DISTLOCK_WAIT", "2s"}}).wait == 2s);
  CHECK(parse_as<RunArguments>({"run", "-w", "3s", "n", "true"}, {{"DISTLOCK_WAIT", "2s"}}).wait ==
        3s);
  CHECK(parse_as<RunArguments>({"run", "-n", "n", "true"}, {{"DISTLOCK_WAIT", "2s"}}).wait == 0ms);
}

TEST_CASE("run waits for a store that is away as for the lock, or as long as it is told",
          "[cli][arguments]") {
  CHECK_FALSE(parse_as<RunArguments>({"run", "n", "true"}).store_patience);
  CHECK(parse_as<RunArguments>({"run", "--store-patience", "5s", "n", "true"}).store_patience ==
        5s);
  CHECK(parse_as<RunArguments>({"run", "n", "true"}, {{"DISTLOCK_STORE_PATIENCE", "0"}})
            .store_patience == 0s);
}

TEST_CASE("run is taken over after a minute by default", "[cli][arguments][R6]") {
  const auto plain = parse_as<RunArguments>({"run", "n", "true"});
  CHECK(plain.window.takeover_after == 1min);
  // The original's processes and MongoDB's own rely on their 15 minutes.
  CHECK(plain.window.unstated_window == 16min);
  const auto told = parse_as<RunArguments>({"run", "--takeover-after", "2s", "n", "true"});
  CHECK(told.window.takeover_after == 2s);
  CHECK(told.window.unstated_window == 0s);
}

TEST_CASE("pings come eight times in a window, and every 30 s at least", "[cli][arguments]") {
  CHECK(parse_as<RunArguments>({"run", "n", "true"}).ping_every == 7500ms);
  CHECK(parse_as<RunArguments>({"run", "--takeover-after", "2s", "n", "true"}).ping_every == 250ms);
  CHECK(parse_as<RunArguments>({"run", "--takeover-after", "1h", "n", "true"}).ping_every == 30s);
  CHECK(parse_as<RunArguments>({"run", "--takeover-after", "1ms", "n", "true"}).ping_every == 1ms);
  CHECK(parse_as<RunArguments>({"run", "--ping-every", "5s", "n", "true"}).ping_every == 5s);
}

TEST_CASE("the record has the command's first word, and no argument that may be a secret",
          "[cli][arguments]") {
  CHECK(parse_as<RunArguments>({"run", "n", "--", "mysql", "--password=x"}).why == "mysql");
  CHECK(parse_as<RunArguments>({"run", "--why", "backup", "n", "true"}).why == "backup");
  CHECK(parse_as<RunArguments>({"run", "n", "true"}, {{"DISTLOCK_WHY", "cron"}}).why == "cron");
}

TEST_CASE("a long COMMAND is cut for its record, between two characters", "[cli][arguments]") {
  const auto why_of = [](const std::string& command) {
    return parse_as<RunArguments>({"run", "n", command}).why;
  };
  const std::string all(10'000, 'a');
  CHECK(why_of(all) == all);
  CHECK(why_of(all + 'a') == all.substr(3) + "…");
  CHECK(why_of(std::string(9'996, 'a') + "ßßß") == std::string(9'996, 'a') + "…");
  CHECK(why_of(std::string(2'501, '\xff')).size() == 10'000);  // Each byte is written as four.
}

TEST_CASE("an option whose value is empty takes nothing else for it", "[cli][arguments]") {
  const std::map<std::string, std::string> results = {
      {"--conflict-exit-code", "no exit status"},
      {"--database", "must not be empty"},
      {"--grace", "no duration"},
      {"--name", "must not be empty"},
      {"--on-loss", "none of term, kill, ignore"},
      {"--ping-every", "no duration"},
      {"--store-patience", "no duration"},
      {"--takeover-after", "no duration"},
      {"--uri", "--uri is empty; write sqlite:PATH"},
      {"--uri-file", "--uri-file is empty; write the name of a file"},
      {"--wait", "no duration"},
      {"--why", ""},  // The empty text is a text.
  };
  std::set<std::string> seen;
  for (const std::string command : {"run", "status", "list", "break", "role"}) {
    for (const std::string& name : valued_options(command)) {
      seen.insert(name);
      Words joined{command, name + "="};
      Words apart{command, name, ""};
      for (Words* words : {&joined, &apart}) {
        if (command != "list" && command != "role") words->emplace_back("n");
        if (command == "run") words->insert(words->end(), {"--", "true"});
      }
      CAPTURE(joined);
      REQUIRE(results.contains(name));
      CHECK_THAT(problem(joined), Catch::Contains(results.at(name)));
      CHECK(problem(joined).empty() == results.at(name).empty());
      CHECK(problem(joined) == problem(apart));
    }
  }
  CHECK(seen.size() == results.size());
}

TEST_CASE("a flag takes no value, not even an empty one", "[cli][arguments]") {
  for (const std::string command : {"run", "status", "list", "break", "role"}) {
    const auto flags = flags_of(command);
    REQUIRE(flags.contains("--help"));
    for (const std::string& flag : flags) {
      CHECK(problem({command, flag + "="}) == flag + " takes no value");
    }
  }
}

TEST_CASE("an option whose value is missing is told so by its name", "[cli][arguments]") {
  for (const std::string command : {"run", "status", "list", "break", "role"}) {
    for (const std::string& name : valued_options(command)) {
      CHECK(problem({command, name}) == name + " needs a value");
    }
  }
  CHECK(problem({"run", "-w"}) == "--wait needs a value");
}

TEST_CASE("an empty value is the empty value, and wins over the environment", "[cli][arguments]") {
  const auto run =
      parse_as<RunArguments>({"run", "--why=", "n", "true", "--why="}, {{"DISTLOCK_WHY", "cron"}});
  CHECK(run.lock == "n");
  CHECK(run.why.empty());
  CHECK(run.command == Words{"true", "--why="});
  CHECK_FALSE(problem({"list", "--uri="}, {{"DISTLOCK_URI", "memory:"}}).empty());
}

TEST_CASE("a value that cannot be used is told with the option or the variable that it is from",
          "[cli][arguments]") {
  const auto told = [](const char* name, const char* value) {
    return problem({"run", "n", "true"}, {{name, value}});
  };
  CHECK_THAT(problem({"run", "--wait", "soon", "n", "true"}), Catch::StartsWith("--wait: "));
  CHECK_THAT(told("DISTLOCK_WAIT", "soon"), Catch::StartsWith("DISTLOCK_WAIT: "));
  CHECK_THAT(told("DISTLOCK_STORE_PATIENCE", "x"), Catch::StartsWith("DISTLOCK_STORE_PATIENCE: "));
  CHECK_THAT(told("DISTLOCK_TAKEOVER_AFTER", "0"), Catch::StartsWith("DISTLOCK_TAKEOVER_AFTER "));
  CHECK_THAT(told("DISTLOCK_PING_EVERY", "0"), Catch::StartsWith("DISTLOCK_PING_EVERY "));
  CHECK_THAT(told("DISTLOCK_GRACE", "x"), Catch::StartsWith("DISTLOCK_GRACE: "));
  CHECK_THAT(told("DISTLOCK_ON_LOSS", "x"), Catch::StartsWith("DISTLOCK_ON_LOSS: "));
  CHECK_THAT(told("DISTLOCK_WHY", "\xff"), Catch::StartsWith("DISTLOCK_WHY: "));
  const std::string long_text(20000, 'a');
  CHECK_THAT(told("DISTLOCK_WHY", long_text.c_str()), Catch::StartsWith("DISTLOCK_WHY: "));
  CHECK_THAT(told("DISTLOCK_CONFLICT_EXIT_CODE", "x"),
             Catch::StartsWith("DISTLOCK_CONFLICT_EXIT_CODE: "));
}

TEST_CASE("an empty COMMAND is refused, and -- may stand before NAME and before COMMAND",
          "[cli][arguments]") {
  CHECK(problem({"run", "n", ""}) == "run: COMMAND is empty");
  CHECK(parse_as<RunArguments>({"run", "-n", "--", "n", "--", "ls", "--"}).command ==
        Words{"ls", "--"});
}

TEST_CASE("a lock that stays busy ends a run with any status from 0 to 255", "[cli][arguments]") {
  for (const int status : {0, 1, 255}) {
    CHECK(parse_as<RunArguments>({"run", "-E", std::to_string(status), "n", "true"})
              .conflict_exit_status == status);
  }
}

TEST_CASE("of an option that is given twice the last value counts", "[cli][arguments]") {
  const auto run = parse_as<RunArguments>(
      {"run", "--wait", "1s", "-w", "3s", "--why=a", "--why=b", "n", "true"});
  CHECK(run.wait == 3s);
  CHECK(run.why == "b");
}
