#include <catch2/catch.hpp>
#include <sstream>

#include "cli/parse.h"
#include "cli/parsed.h"

using namespace distlock::cli;
using namespace distlock::cli::testing;
using namespace std::chrono_literals;

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

TEST_CASE("a home that ends in a slash, as that of a service may, has the file of locks, too",
          "[cli][arguments]") {
  const auto fallback = [](const Variables& variables) {
    return parse_as<ListArguments>({"list"}, variables).common.store.fallback;
  };
  CHECK(fallback({{"HOME", "/"}}) == "sqlite:/.local/state/distlock/locks.db");
  CHECK(fallback({{"HOME", "/home/ann//"}}) == "sqlite:/home/ann/.local/state/distlock/locks.db");
  CHECK(fallback({{"XDG_STATE_HOME", "//"}}) == "sqlite:/distlock/locks.db");
}

TEST_CASE("status, list and break take what they need", "[cli][arguments]") {
  CHECK_FALSE(parse_as<StatusArguments>({"status"}).lock);
  CHECK(parse_as<StatusArguments>({"status", "n", "--json"}).format == Format::json);
  CHECK(parse_as<StatusArguments>({"status", "--", "-n"}).lock == "-n");
  CHECK(parse_as<StatusArguments>({"status", "-"}).lock == "-");
  CHECK(parse_as<ListArguments>({"list", "--names"}).format == Format::names);
  CHECK(parse_as<ListArguments>({"list", "--held"}).held);
  CHECK(parse_as<ListArguments>({"list", "--held", "a*"}).pattern == "a*");
  CHECK(parse_as<ListArguments>({"list", "--watch"}).watch);
  CHECK(parse_as<BreakArguments>({"break", "n", "--wait"}).wait);
  CHECK(parse_as<ListArguments>({"list", "--takeover-after", "3s"}).window.takeover_after == 3s);
  CHECK_FALSE(parse_as<BreakArguments>({"break", "n"}).confirmed);
  CHECK(parse_as<BreakArguments>({"break", "n", "--yes"}).confirmed);
  CHECK(parse_as<ReadmitArguments>({"readmit", "--yes", "3"}).member == 3);
  CHECK(parse_as<ReadmitArguments>({"readmit", "--yes", "3"}).confirmed);
  CHECK_FALSE(parse_as<ReadmitArguments>({"readmit", "3"}).confirmed);
}

TEST_CASE("a member to readmit is a number from 1 to 9", "[cli][arguments]") {
  CHECK_THAT(problem({"readmit"}), Catch::Equals("readmit: NUMBER is missing"));
  for (const std::string number : {"0", "10", "a", ""}) {
    CHECK_THAT(problem({"readmit", number}), Catch::Contains("is no number of a member: 1 to 9"));
  }
}

TEST_CASE("a flag with a value is a usage error", "[cli][arguments]") {
  CHECK_THAT(problem({"run", "--quiet=no", "n", "true"}), Catch::Equals("--quiet takes no value"));
  CHECK_THAT(problem({"break", "--yes=false", "n"}), Catch::Equals("--yes takes no value"));
}

TEST_CASE("help fits 80 columns and says nothing of the parser", "[cli][arguments]") {
  for (const std::string command : {"run", "status", "list", "break", "readmit", "role"}) {
    const std::string help = help_of(command);
    CHECK_THAT(help, Catch::StartsWith("Usage: distlock " + command + " ") &&
                         Catch::Contains("--help") && !Catch::Contains("Excludes"));
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() < 80);
  }
}

TEST_CASE("a role has names that are not empty, and takes none from the environment",
          "[cli][arguments][role]") {
  const auto plain = parse_as<RoleArguments>({"role"}, {{"DISTLOCK_NAME", "nightly"}});
  CHECK(plain.name == "distlock");
  CHECK(plain.database == "config");
  CHECK_FALSE(plain.read_only);
  CHECK(parse_as<RoleArguments>({"role", "--name=n", "--database", "d"}).database == "d");
  CHECK(parse_as<RoleArguments>({"role", "--read-only"}).read_only);
  // To MongoDB the database "" is every database.
  for (const Words& words :
       {Words{"role", "--name="}, Words{"role", "--database="}, Words{"role", "--database", ""},
        Words{"role", "extra"}, Words{"role", "--database", "local"},
        Words{"role", "--name", "\xff"}, Words{"role", "--uri", "memory:"}}) {
    CAPTURE(words);
    CHECK_FALSE(problem(words).empty());
  }
}

TEST_CASE("a role is of a database that a connection string can name", "[cli][arguments][role]") {
  for (const std::string& name :
       Words{"a/b", "a.b", "a b", "a?w=1", "a%41", "a$b", std::string(64, 'd')}) {
    CAPTURE(name);
    CHECK(problem({"role", "--database", name}) ==
          "--database: \"" + name + "\" is no name of a database");
  }
  CHECK_THAT(problem({"role", "--database", "local"}), Catch::Contains("is of one server alone"));
  for (const std::string& name : Words{"locks-2", "schlüssel", std::string(63, 'd')}) {
    CHECK(parse_as<RoleArguments>({"role", "--database", name}).database == name);
  }
}

TEST_CASE("NO_COLOR and --no-color each turn colour off", "[cli][arguments]") {
  CHECK(parse_as<ListArguments>({"list"}).common.colour_allowed);
  CHECK(parse_as<ListArguments>({"list"}, {{"NO_COLOR", ""}}).common.colour_allowed);
  CHECK_FALSE(parse_as<ListArguments>({"list"}, {{"NO_COLOR", "1"}}).common.colour_allowed);
  CHECK_FALSE(parse_as<ListArguments>({"list", "--no-color"}).common.colour_allowed);
}

TEST_CASE("help and version are information, not mistakes", "[cli][arguments]") {
  for (const Words& words : {Words{"--help"}, Words{"-h"}, Words{"help"}, Words{"--version"},
                             Words{"-V"}, Words{"run", "--help"}, Words{"list", "-h"},
                             Words{"status", "-h"}, Words{"break", "-h"}, Words{"role", "-h"}}) {
    CHECK_FALSE(parse_as<Information>(words).text.empty());
  }
  CHECK(parse_as<Information>({"help", "run"}).text ==
        parse_as<Information>({"run", "--help"}).text);
}

TEST_CASE("a command line that cannot be carried out is a usage error", "[cli][arguments]") {
  for (const Words& words : {Words{},
                             Words{"walk"},
                             Words{"--version", "walk"},
                             Words{"help", "walk"},
                             Words{"--help", "run", "list"},
                             Words{"help", "--help"},
                             Words{"help", "help"},
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
                             Words{"list", "extra", "word"},
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
  CHECK(problem({"status", ""}) == "lock name is empty: give it at least one character");
}

TEST_CASE("a mistake beside a connection string does not show its password", "[cli][arguments]") {
  const std::string uri = "mongodb://ann:secret@host";
  for (const Words& words :
       {Words{"list", uri}, Words{"list", "--ur=" + uri}, Words{uri}, Words{"status", "a", uri},
        Words{"list", "--url", uri}, Words{"list", "-x" + uri}, Words{"run", "--url=" + uri, "a"},
        Words{"status", uri + "\xc3"}, Words{"status", uri}, Words{"break", uri},
        Words{"run", uri, "true"}, Words{"run", "mirrored+" + uri, "true"},
        Words{"run", "mongodb+srv://ann:secret@a.b.c", "true"}, Words{"list", "mirrored+" + uri}}) {
    CAPTURE(words);
    REQUIRE_FALSE(problem(words).empty());
    CHECK_THAT(problem(words), !Catch::Contains("secret"));
  }
}

TEST_CASE("a connection string in COMMAND's place is refused, and its password stays hidden",
          "[cli][arguments]") {
  for (const std::string uri :
       {"mongodb://ann:secret@host", "MongoDB://ann:secret@host", "mongo://ann:secret@host",
        "mirrored+mongodb+srv://ann:secret@a.b.c", "DISTLOCK_URI=mongodb://ann:secret@host"}) {
    for (const Words& words : {Words{"run", "n", uri, "true"}, Words{"run", "n", "--", uri},
                               Words{"run", "--why", "w", "n", uri, "true"}}) {
      CAPTURE(words);
      CHECK(problem(words) == "COMMAND is a connection string; write --uri before it");
    }
  }
  const auto run = parse_as<RunArguments>({"run", "n", "./dump", "mongodb://ann:secret@host"});
  CHECK(run.why == "./dump");
}

TEST_CASE("a connection string is known in each of its forms", "[cli][arguments]") {
  for (const std::string uri :
       {"MongoDB://ann:secret@host", "mirrored+mongodb+srv://ann:secret@a.b.c",
        "MIRRORED+MONGODB://ann:secret@a,b,c", "mongo://ann:secret@host", "mongodb://host",
        " mongodb://ann:secret@host", "DISTLOCK_URI=mongodb://ann:secret@host",
        "mongodb://host,DISTLOCK_URI=mongodb://ann:secret@host",
        "mirrored+sqlite:a,mongodb://ann:secret@host,b",
        "x=mongodb://host/?authMechanismProperties=AWS_SESSION_TOKEN:secret"}) {
    CAPTURE(uri);
    CHECK_THAT(problem({"run", uri, "true"}), Catch::StartsWith("NAME is a connection string"));
    CHECK_THAT(problem({"status", uri}), Catch::StartsWith("NAME is a connection string"));
    CHECK_THAT(problem({"list", uri}), Catch::StartsWith("PATTERN is a connection string"));
  }
}

TEST_CASE("a text that is stored or printed takes no connection string", "[cli][arguments]") {
  const std::string uri = "mirrored+mongodb://ann:secret@a,b,c";
  for (const Words& words :
       {Words{"run", "--why", uri, "n", "true"}, Words{"run", "--why=to " + uri, "n", "true"},
        Words{"role", "--name", uri}, Words{"role", "--database=" + uri}}) {
    CAPTURE(words);
    CHECK_THAT(problem(words), Catch::Contains("a connection string") && Catch::StartsWith("--") &&
                                   !Catch::Contains("secret"));
  }
  CHECK_THAT(problem({"run", "n", "true"}, {{"DISTLOCK_WHY", uri}}),
             Catch::StartsWith("DISTLOCK_WHY"));
  CHECK(parse_as<RunArguments>({"run", "--why", "dump of mongodb://db1/a", "n", "true"}).why ==
        "dump of mongodb://db1/a");
}

TEST_CASE("a name or a purpose with a password in it is refused", "[cli][arguments]") {
  for (const std::string address :
       {"https://ann:secret@example.com/a", "copy ftp://a/b to FTP://ann:se@cret@host",
        "https://host/,https://ann:secret@host?x"}) {
    CAPTURE(address);
    CHECK(problem({"run", address, "true"}) ==
          "NAME has a password in it, and all users can read it; leave that out");
    CHECK_THAT(problem({"run", "--why", address, "n", "true"}),
               Catch::StartsWith("--why has a password in it"));
    // A program may have named its lock so, and it can be broken.
    CHECK(parse_as<BreakArguments>({"break", address}).lock == address);
    CHECK(parse_as<StatusArguments>({"status", address}).lock == address);
  }
}

TEST_CASE("names of locks may look like other addresses", "[cli][arguments]") {
  CHECK(parse_as<RunArguments>({"run", "https://example.com/a", "true"}).lock ==
        "https://example.com/a");
  CHECK(parse_as<ListArguments>({"list", "https://*"}).pattern == "https://*");
  CHECK(parse_as<StatusArguments>({"status", "dump of mongodb://db1/a"}).lock ==
        "dump of mongodb://db1/a");
  CHECK(parse_as<StatusArguments>({"status", "ssh://git@example.com/a"}).lock ==
        "ssh://git@example.com/a");
  for (const std::string name : {"ssh://git@example.com/a", "https://host:8080/a@1",
                                 "https://ann:@host", "a:b@c", "https://host:80 ann@host"}) {
    CHECK(parse_as<RunArguments>({"run", name, "true"}).lock == name);
  }
}

TEST_CASE("a connection string given as another option's value is not shown", "[cli][arguments]") {
  const std::string uri = "mongodb://ann:secret@host";
  for (const Words& words :
       {Words{"run", "-w", uri, "x", "y"}, Words{"status", "--takeover-after", uri},
        Words{"list", "--takeover-after=" + uri}, Words{"run", "--ping-every", uri, "x", "y"},
        Words{"run", "--grace", uri, "x", "y"}, Words{"run", "-E", uri, "x", "y"},
        Words{"run", "--on-loss", uri, "x", "y"}, Words{"run", "--why", uri + "\xff", "x", "y"},
        Words{"run", "-n" + uri, "x", "y"}, Words{"run", "--nonblock=" + uri, "x", "y"},
        Words{"run", "-n=" + uri, "x", "y"}, Words{"list", "--json=" + uri},
        Words{"status", uri + "\xff"}}) {
    CAPTURE(words);
    REQUIRE_FALSE(problem(words).empty());
    CHECK_THAT(problem(words), !Catch::Contains("secret"));
  }
  CHECK_THAT(problem({"list"}, {{"DISTLOCK_TAKEOVER_AFTER", uri}}),
             Catch::Contains("is no duration"));
  CHECK_THAT(problem({"list"}, {{"DISTLOCK_TAKEOVER_AFTER", uri}}), !Catch::Contains("secret"));
}

TEST_CASE("status and list judge a holder that states no window as a run with their option does",
          "[cli][arguments][R6]") {
  CHECK(parse_as<ListArguments>({"list"}).window.unstated_window == 16min);
  CHECK(parse_as<StatusArguments>({"status"}).window.unstated_window == 16min);
  const auto list = parse_as<ListArguments>({"list", "--takeover-after", "3s"}).window;
  const auto status = parse_as<StatusArguments>({"status", "--takeover-after", "3s"}).window;
  for (const ContenderWindow& window : {list, status}) {
    CHECK(window.takeover_after == 3s);
    CHECK(window.unstated_window == 0s);
  }
}
