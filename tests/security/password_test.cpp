#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "security/secured.h"

using namespace distlock;
using namespace distlock::testing;
using Catch::Contains;
using Words = std::vector<std::string>;

namespace {

// What a holder's command can see of it and of itself.
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

TEST_CASE("who else can read a password is warned of", "[security]") {
  const Secured secured;
  const Way way{.folder = {}, .uri = secured.uri()};
  CHECK_THAT(say({"list", "--uri", way.uri}, {}).messages, Contains("every user of this host"));
  CHECK_THAT(say({"list", "--uri-file", way.file(0644)}, {}).messages, Contains("chmod 600"));
  CHECK(say({"list", "--uri-file", way.file(0640)}, {}).messages.empty());
  CHECK(say({"list"}, {{"DISTLOCK_URI", way.uri}}).messages.empty());
  CHECK(say({"list", "-q", "--uri", way.uri}, {}).messages.empty());
}
