// `distlock run` with a store that is away when it starts, or gone while it waits.
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

TEST_CASE("a wait goes on where its file was removed and made again", "[process][run][R15]") {
  ToolFixture fixture;
  // The longer ones are more than 64 bits of nanoseconds, by less and by more than once around.
  const std::string limit = GENERATE("", "5m", "150000d", "3000000d");
  const auto holder = fixture.hold();
  ToolFixture::Words words{"run", "jobs", "--", "sh", "-c", "echo $DISTLOCK_FENCE"};
  if (!limit.empty()) words.insert(words.begin() + 1, {"--wait", limit});
  const auto waiter = fixture.start(words);
  const auto stands = [&] {
    return fixture.status({"status", "jobs"}) == 0 &&
           fixture.output.find("1st") != std::string::npos;
  };
  while (!stands()) continue;
  for (const auto& file : std::filesystem::directory_iterator(fixture.folder.path()))
    std::filesystem::remove(file.path());
  REQUIRE(fixture.status({"run", "another", "--", "true"}) == 0);  // It makes the file anew.
  CHECK(waiter->next_output() == "1");
  CHECK(waiter->wait() == 0);
  CHECK_THAT(waiter->rest_of_messages(), Catch::Contains("replaced or removed"));
}
