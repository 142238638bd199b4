// `distlock run` with a store that is away when it starts.
#include <signal.h>

#include <catch2/catch.hpp>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

// Port 1 of the loopback: nobody listens.
constexpr const char* kAway = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100";

}  // namespace

TEST_CASE("the shorter of two waits ends a run whose store is away", "[process][run][R15]") {
  ToolFixture fixture;
  const auto status_after = [&](const char* wait, const char* patience) {
    return fixture.status({"run", "--wait", wait, "--store-patience", patience, "--takeover-after",
                           "2s", "--uri", kAway, "jobs", "--", "true"});
  };
  CHECK(status_after("1h", "0s") == 69);
  CHECK_THAT(fixture.messages, !Catch::Contains("waiting for the store"));
  CHECK(status_after("1h", "300ms") == 69);
  CHECK_THAT(fixture.messages, Catch::Contains("waiting for the store"));
  CHECK(status_after("300ms", "1h") == 69);
}

TEST_CASE("a run without a limit waits for a store that is away, until a signal",
          "[process][run][R15]") {
  const ToolFixture fixture;
  const auto run =
      fixture.start({"run", "--takeover-after", "2s", "--uri", kAway, "jobs", "--", "true"});
  CHECK_THAT(run->next_message(), Catch::Contains("waiting for the store"));
  run->send(SIGTERM);
  CHECK(run->wait() == 128 + SIGTERM);
}
