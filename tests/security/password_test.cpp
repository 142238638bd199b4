#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "security/secured.h"

using namespace distlock;
using namespace distlock::testing;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

// Prints the holder's words and environment, the process list, and the command's own environment.
const std::string kPeep =
    "tr '\\0' '\\n' < /proc/$PPID/cmdline; tr '\\0' '\\n' < "
    "/proc/$PPID/environ; ps -ef; env";

struct Case {
  std::string what;
  Words words;
};

const std::vector<Case> kCommands{
    {"run", {"run", "-v", "--takeover-after", "60s", "jobs", "--", "sh", "-c", kPeep}},
    {"status", {"status", "-v", "jobs"}},
    {"status in JSON", {"status", "-v", "--json"}},
    {"list", {"list", "-v"}},
    {"list in JSON", {"list", "-v", "--json"}},
    {"break", {"break", "-v", "--yes", "jobs"}}};

/// One way to hand a connection string over, and what the tool then says.
struct Way {
  TemporaryFolder folder;
  std::string uri;

  std::string file(mode_t mode = 0600) const {
    const std::string name = (folder.path() / "uri").string();
    std::ofstream(name) << uri << '\n';
    chmod(name.c_str(), mode);
    return name;
  }
  std::vector<Said> say_each(const Words& words) const {
    Words with_option = words;
    with_option.insert(with_option.begin() + 1, {"--uri", uri});
    return {say(with_option, {}), say(words, {{"DISTLOCK_URI", uri}}),
            say(words, {{"DISTLOCK_URI_FILE", file()}})};
  }
};

/// While it lives core files are as large as this process may have them.
struct CoreFiles {
  CoreFiles() {
    getrlimit(RLIMIT_CORE, &before);
    const rlimit all{.rlim_cur = before.rlim_max, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_CORE, &all) == 0);
  }
  ~CoreFiles() { setrlimit(RLIMIT_CORE, &before); }

  rlimit before{};
};

/// Soft and hard limit in a line of /proc/PID/limits.
std::pair<std::string, std::string> limits_in(std::istream& text) {
  std::string max, core, file, size, soft, hard, unit;
  text >> max >> core >> file >> size >> soft >> hard >> unit;
  return {soft, hard};
}

}  // namespace

TEST_CASE("a password is in nothing that the tool says, hands to a command, or shows of itself",
          "[security]") {
  const Secured secured;
  const Way way{.folder = {}, .uri = secured.uri()};
  for (const Case& command : kCommands) {
    INFO(command.what);
    for (const Said& said : way.say_each(command.words)) {
      INFO(said.all());
      CHECK(said.status == 0);
      CHECK_THAT(said.all(), !Contains(secured.password()));
      CHECK_THAT(said.all(), !Contains(secured.typed_password()));
    }
  }
}

TEST_CASE("a wrong password is refused, and in nothing that the tool says", "[security]") {
  const Secured secured;
  const Way way{.folder = {}, .uri = secured.uri_as("admin", "wr%2Fng%40s3cr3t")};
  for (const Case& command : kCommands) {
    INFO(command.what);
    for (const Said& said : way.say_each(command.words)) {
      INFO(said.all());
      CHECK(said.status == 77);
      CHECK_THAT(said.all(), !Contains("wr%2Fng") && !Contains("wr/ng") && !Contains("s3cr3t"));
    }
  }
}

TEST_CASE("a tool inside a command of run does not lock elsewhere for want of the password",
          "[security]") {
  const Secured secured;
  const Words words{"run", "outer", "--", DISTLOCK_TOOL, "run", "inner", "--", "true"};
  const Said refused = say(words, {{"DISTLOCK_URI", secured.uri()}});
  CHECK(refused.status == 64);
  CHECK_THAT(refused.messages, Contains("DISTLOCK_URI_FILE"));
  const Way way{.folder = {}, .uri = secured.uri()};
  CHECK(say(words, {{"DISTLOCK_URI_FILE", way.file()}}).status == 0);
}

TEST_CASE("a password that other users can read is warned of", "[security]") {
  const Secured secured;
  const Way way{.folder = {}, .uri = secured.uri()};
  CHECK_THAT(say({"list", "--uri", way.uri}, {}).messages, Contains("every user of this host"));
  CHECK_THAT(say({"list", "--uri-file", way.file(0644)}, {}).messages, Contains("chmod 600"));
  CHECK(say({"list", "--uri-file", way.file(0640)}, {}).messages.empty());
  CHECK(say({"list"}, {{"DISTLOCK_URI", way.uri}}).messages.empty());
  CHECK(say({"list", "-q", "--uri", way.uri}, {}).messages.empty());
}

TEST_CASE("the tool writes no core file, and its command may as before", "[security]") {
  const Secured secured;
  const CoreFiles allowed;
  const Said said =
      say({"run", "jobs", "--", "sh", "-c",
           "grep -h 'Max core file size' /proc/$PPID/limits /proc/self/limits /proc/" +
               std::to_string(getpid()) + "/limits"},
          {{"DISTLOCK_URI", secured.uri()}});
  INFO(said.all());
  CHECK(said.status == 0);
  std::istringstream lines(said.output);
  const auto of_tool = limits_in(lines);
  const auto of_command = limits_in(lines);
  const auto of_test = limits_in(lines);
  CHECK(of_tool.first == "0");
  CHECK(of_tool.second == of_test.second);
  CHECK(of_command == of_test);
  CHECK_FALSE(of_test.second.empty());
}
