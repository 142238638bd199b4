#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "process/found_library.h"
#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

/// The user of a tool has this name (libnss_wrapper).
ToolProcess::Environment with_user_name(ToolProcess::Environment variables,
                                        const TemporaryFolder& folder, const std::string& name) {
  const std::string users = folder.path() / "users";
  const std::string groups = folder.path() / "groups";
  const std::string numbers = std::to_string(getuid()) + ":" + std::to_string(getgid());
  std::ofstream(users) << name << ":x:" << numbers << ":a user:/:/bin/sh\n";
  std::ofstream(groups) << "all:x:" << getgid() << ":\n";
  variables["LD_PRELOAD"] = found_library("/usr/lib/*/libnss_wrapper.so");
  variables["NSS_WRAPPER_PASSWD"] = users;
  variables["NSS_WRAPPER_GROUP"] = groups;
  return variables;
}

/// The status of "jobs" while such a user holds it.
std::string holder_of_user(const std::string& name) {
  ToolFixture fixture;
  const auto variables = with_user_name(fixture.environment(), fixture.folder, name);
  ToolProcess tool({"run", "jobs", "--", "sh", "-c", "echo ready; exec cat"}, variables);
  REQUIRE(tool.next_output() == "ready");
  REQUIRE(fixture.status({"status", "jobs", "--json"}) == 0);
  tool.close_input();
  REQUIRE(tool.wait() == 0);
  return fixture.output;
}

}  // namespace

TEST_CASE("a user whose name is no UTF-8 holds locks under its number",
          "[process][run][unsanitized][R14]") {
  CHECK_THAT(holder_of_user("m\xc3\xbcller"), Catch::Contains(R"("user": "m\u00fcller")"));
  CHECK_THAT(holder_of_user("m\xfcller"),
             Catch::Contains("\"user\": \"" + std::to_string(getuid()) + "\""));
}
