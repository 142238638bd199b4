#include "cli/arguments.h"

#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <sstream>

using namespace distlock::cli;
using namespace std::chrono_literals;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

namespace {

Arguments parse(const Words& words, const Variables& variables = {}) {
  return parse_arguments(words, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

template <class Command>
Command parse_as(const Words& words, const Variables& variables = {}) {
  const Arguments arguments = parse(words, variables);
  if (const auto* error = std::get_if<UsageError>(&arguments)) FAIL(error->problem);
  return std::get<Command>(arguments);
}

std::string problem(const Words& words, const Variables& variables = {}) {
  const Arguments arguments = parse(words, variables);
  const auto* error = std::get_if<UsageError>(&arguments);
  return error == nullptr ? "" : error->problem;
}

std::string help_of(const std::string& command) {
  return parse_as<Information>({command, "--help"}).text;
}

/// The options of a command that take a value, with their `--`.
std::set<std::string> valued_options(const std::string& command) {
  const std::string help = help_of(command);
  const std::regex option(R"(\n +(?:-., )?(--[a-z-]+) [A-Z]+[ \n])");
  std::set<std::string> names;
  for (std::sregex_iterator next(help.begin(), help.end(), option), end; next != end; ++next) {
    names.insert((*next)[1]);
  }
  return names;
}

}  // namespace

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
}

TEST_CASE("run ends its command gently when the lock is lost, unless told otherwise",
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

TEST_CASE("run waits for ever unless it is told not to", "[cli][arguments]") {
  CHECK_FALSE(parse_as<RunArguments>({"run", "n", "true"}).wait);
  CHECK(parse_as<RunArguments>({"run", "-n", "n", "true"}).wait == 0ms);
  CHECK(parse_as<RunArguments>({"run", "--wait=1.5s", "n", "true"}).wait == 1500ms);
  CHECK(parse_as<RunArguments>({"run", "n", "true"}, {{"DISTLOCK_WAIT", "2s"}}).wait == 2s);
  CHECK(parse_as<RunArguments>({"run", "-w", "3s", "n", "true"}, {{"DISTLOCK_WAIT", "2s"}}).wait ==
        3s);
  CHECK(parse_as<RunArguments>({"run", "-n", "n", "true"}, {{"DISTLOCK_WAIT", "2s"}}).wait == 0ms);
}

TEST_CASE("pings come every 30 s, or eight times in a shorter takeover", "[cli][arguments]") {
  CHECK(parse_as<RunArguments>({"run", "n", "true"}).takeover_after == 16min);
  CHECK(parse_as<RunArguments>({"run", "n", "true"}).ping_every == 30s);
  CHECK(parse_as<RunArguments>({"run", "--takeover-after", "2s", "n", "true"}).ping_every == 250ms);
  CHECK(parse_as<RunArguments>({"run", "--takeover-after", "1h", "n", "true"}).ping_every == 30s);
  CHECK(parse_as<RunArguments>({"run", "--takeover-after", "1ms", "n", "true"}).ping_every == 1ms);
  CHECK(parse_as<RunArguments>({"run", "--ping-every", "5s", "n", "true"}).ping_every == 5s);
}

TEST_CASE("the record says what for, and no argument that may be a secret", "[cli][arguments]") {
  CHECK(parse_as<RunArguments>({"run", "n", "--", "mysql", "--password=x"}).why == "mysql");
  CHECK(parse_as<RunArguments>({"run", "--why", "backup", "n", "true"}).why == "backup");
  CHECK(parse_as<RunArguments>({"run", "n", "true"}, {{"DISTLOCK_WHY", "cron"}}).why == "cron");
}

TEST_CASE("the store is named on the line, in the environment, or by default", "[cli][arguments]") {
  const Variables both = {{"DISTLOCK_URI", "memory:"}, {"DISTLOCK_URI_FILE", "/f"}};
  CHECK(parse_as<ListArguments>({"list", "--uri", "sqlite:a"}, both).common.store.uri ==
        "sqlite:a");
  const StoreArguments file =
      parse_as<ListArguments>({"list", "--uri-file", "g"}, both).common.store;
  CHECK(file.uri_file == "g");
  CHECK_FALSE(file.uri);
  CHECK(parse_as<ListArguments>({"list"}, both).common.store.uri == "memory:");
  const Variables empty = {{"DISTLOCK_URI", ""}, {"DISTLOCK_URI_FILE", "/f"}};
  CHECK(parse_as<ListArguments>({"list"}, empty).common.store.uri_file == "/f");

  const Variables home = {{"HOME", "/home/ann"}, {"XDG_STATE_HOME", "relative"}};
  CHECK(parse_as<ListArguments>({"list"}, home).common.store.fallback ==
        "sqlite:/home/ann/.local/state/distlock/locks.db");
  const Variables xdg = {{"HOME", "/home/ann"}, {"XDG_STATE_HOME", "/state"}};
  CHECK(parse_as<ListArguments>({"list"}, xdg).common.store.fallback ==
        "sqlite:/state/distlock/locks.db");
  CHECK_FALSE(parse_as<ListArguments>({"list"}).common.store.fallback);
}

TEST_CASE("status, list and break take what they need", "[cli][arguments]") {
  CHECK_FALSE(parse_as<StatusArguments>({"status"}).lock);
  CHECK(parse_as<StatusArguments>({"status", "n", "--json"}).format == Format::json);
  CHECK(parse_as<StatusArguments>({"status", "--", "-n"}).lock == "-n");
  CHECK(parse_as<ListArguments>({"list", "--names"}).format == Format::names);
  CHECK(parse_as<ListArguments>({"list", "--takeover-after", "3s"}).takeover_after == 3s);
  CHECK_FALSE(parse_as<BreakArguments>({"break", "n"}).confirmed);
  CHECK(parse_as<BreakArguments>({"break", "n", "--yes"}).confirmed);
}

TEST_CASE("an option whose value is empty takes nothing else for it", "[cli][arguments]") {
  for (const std::string command : {"run", "status", "list", "break"}) {
    const auto names = valued_options(command);
    REQUIRE(names.contains("--uri"));
    for (const std::string& name : names) {
      Words joined{command, name + "="};
      Words apart{command, name, ""};
      for (Words* words : {&joined, &apart}) {
        if (command != "list") words->emplace_back("n");
        if (command == "run") words->insert(words->end(), {"--", "true"});
      }
      CAPTURE(joined);
      CHECK(problem(joined) == problem(apart));
      // No empty value of these can be used; that of the others is found to be wrong later.
      const bool usable = name == "--why" || name == "--uri" || name == "--uri-file";
      CHECK(problem(joined).empty() == usable);
    }
  }
}

TEST_CASE("an empty value is the empty value, and wins over the environment", "[cli][arguments]") {
  const auto run = parse_as<RunArguments>({"run", "--why=", "--uri=", "n", "true", "--why="},
                                          {{"DISTLOCK_WHY", "cron"}, {"DISTLOCK_URI", "memory:"}});
  CHECK(run.lock == "n");
  CHECK(run.why.empty());
  CHECK(run.common.store.uri == "");
  CHECK(run.command == Words{"true", "--why="});
  CHECK(parse_as<RunArguments>({"run", "--why", "--grace=", "n", "true"}).why == "--grace=");
  CHECK(parse_as<ListArguments>({"list", "--uri-file="}).common.store.uri_file == "");
}

TEST_CASE("a flag with a value is a usage error", "[cli][arguments]") {
  CHECK_THAT(problem({"list", "--json="}), Catch::Equals("--json takes no value"));
  CHECK_THAT(problem({"run", "--quiet=no", "n", "true"}), Catch::Equals("--quiet takes no value"));
  CHECK_THAT(problem({"break", "--yes=false", "n"}), Catch::Equals("--yes takes no value"));
}

TEST_CASE("help fits 80 columns and says nothing of the parser", "[cli][arguments]") {
  for (const std::string command : {"run", "status", "list", "break"}) {
    const std::string help = help_of(command);
    CHECK_THAT(help, Catch::StartsWith("Usage: distlock " + command + " ") &&
                         Catch::Contains("[$DISTLOCK_URI]") && !Catch::Contains("Excludes"));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() < 80);
  }
}

TEST_CASE("colour is off if anybody says so", "[cli][arguments]") {
  CHECK(parse_as<ListArguments>({"list"}).common.colour_allowed);
  CHECK(parse_as<ListArguments>({"list"}, {{"NO_COLOR", ""}}).common.colour_allowed);
  CHECK_FALSE(parse_as<ListArguments>({"list"}, {{"NO_COLOR", "1"}}).common.colour_allowed);
  CHECK_FALSE(parse_as<ListArguments>({"list", "--no-color"}).common.colour_allowed);
}

TEST_CASE("help and version are information, not mistakes", "[cli][arguments]") {
  for (const Words& words :
       {Words{"--help"}, Words{"-h"}, Words{"help"}, Words{"--version"}, Words{"-V"},
        Words{"run", "--help"}, Words{"list", "-h"}, Words{"status", "-h"}, Words{"break", "-h"}}) {
    CHECK_FALSE(parse_as<Information>(words).text.empty());
  }
}

TEST_CASE("a command line that cannot be carried out is a usage error", "[cli][arguments]") {
  for (const Words& words : {Words{},
                             Words{"walk"},
                             Words{"--uri", "memory:", "list"},
                             Words{"run"},
                             Words{"run", "n"},
                             Words{"run", "n", "--"},
                             Words{"run", "--bogus", "n", "true"},
                             Words{"run", "-n", "-w", "1", "n", "true"},
                             Words{"run", "-w", "-1", "n", "true"},
                             Words{"run", "-w", "soon", "n", "true"},
                             Words{"run", "--takeover-after", "0", "n", "true"},
                             Words{"run", "--ping-every", "0", "n", "true"},
                             Words{"run", "-E", "256", "n", "true"},
                             Words{"run", "-E", "-1", "n", "true"},
                             Words{"run", "-E", "1x", "n", "true"},
                             Words{"run", "--why", "\xff", "n", "true"},
                             Words{"run", "--wait"},
                             Words{"list", "extra"},
                             Words{"list", "--json", "--names"},
                             Words{"status", "a", "b"},
                             Words{"break"},
                             Words{"break", "a", "b"},
                             Words{"list", "-q", "-v"},
                             Words{"list", "--uri", "memory:", "--uri-file", "f"}}) {
    CAPTURE(words);
    CHECK_FALSE(problem(words).empty());
  }
}

TEST_CASE("a name that no store could keep is a usage error", "[cli][arguments]") {
  const std::string longest(1000, 'x');
  CHECK(parse_as<StatusArguments>({"status", longest}).lock == longest);
  for (const std::string& name :
       {std::string(), longest + "x", std::string("a\0b", 3), std::string("\xc3\x28")}) {
    CHECK_FALSE(problem({"status", name}).empty());
    CHECK_FALSE(problem({"break", name}).empty());
    CHECK_FALSE(problem({"run", name, "--", "true"}).empty());
  }
}

TEST_CASE("a mistake beside a connection string does not show its password", "[cli][arguments]") {
  const std::string uri = "mongodb://ann:secret@host";
  for (const Words& words : {Words{"list", uri}, Words{"list", "--ur=" + uri}, Words{uri},
                             Words{"status", "a", uri}, Words{"list", "--url", uri},
                             Words{"list", "-x" + uri}, Words{"run", "--url=" + uri, "a"}}) {
    CAPTURE(words);
    REQUIRE_FALSE(problem(words).empty());
    CHECK_THAT(problem(words), !Catch::Contains("secret"));
  }
}

TEST_CASE("a connection string given as another option's value is not shown", "[cli][arguments]") {
  const std::string uri = "mongodb://ann:secret@host";
  for (const Words& words :
       {Words{"run", "-w", uri, "x", "y"}, Words{"status", "--takeover-after", uri},
        Words{"list", "--takeover-after=" + uri}, Words{"run", "--ping-every", uri, "x", "y"},
        Words{"run", "--grace", uri, "x", "y"}, Words{"run", "-E", uri, "x", "y"},
        Words{"run", "--on-loss", uri, "x", "y"}, Words{"run", "--why", uri + "\xff", "x", "y"},
        Words{"status", uri + "\xff"}}) {
    CAPTURE(words);
    REQUIRE_FALSE(problem(words).empty());
    CHECK_THAT(problem(words), !Catch::Contains("secret"));
  }
  CHECK_THAT(problem({"list"}, {{"DISTLOCK_TAKEOVER_AFTER", uri}}),
             Catch::Contains("is no duration"));
  CHECK_THAT(problem({"list"}, {{"DISTLOCK_TAKEOVER_AFTER", uri}}), !Catch::Contains("secret"));
}
