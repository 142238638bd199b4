#include "cli/descendants.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/leave.h"
#include "support/temporary_folder.h"

using namespace distlock::cli;

// Of many processes, some end between the opening of their /proc file and its reading.
TEST_CASE("processes that end while others are looked for are no error", "[cli][child]") {
  const std::jthread others([](const std::stop_token& stop) {
    const char* const words[] = {"true", nullptr};
    char* const no_environment[] = {nullptr};
    while (!stop.stop_requested()) {
      pid_t id = 0;
      if (posix_spawnp(&id, "true", nullptr, nullptr, const_cast<char**>(words), no_environment) ==
          0)
        waitpid(id, nullptr, 0);
    }
  });
  for (int i = 0; i < 1000; ++i) CHECK_NOTHROW(descendants_of(getpid(), {}));
}

TEST_CASE("where /proc does not show the processes, a loss is said to end less",
          "[cli][child][R9]") {
  const distlock::testing::TemporaryFolder proc;
  const auto said_of = [](const std::string& folder) {
    std::ostringstream err;
    warn_of_hidden_descendants(err, folder);
    return err.str();
  };
  CHECK(said_of("/proc").empty());
  CHECK_THAT(said_of(proc.path()), Catch::Contains("does not show the processes here"));
  // That of another PID namespace has other numbers.
  std::filesystem::create_symlink("0", proc.path() / "self");
  CHECK_THAT(said_of(proc.path()), Catch::Contains("does not show the processes here"));
}

TEST_CASE("a process that has got the number of the dead keeper is a descendant",
          "[cli][child][R9]") {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    distlock::testing::leave(1);
  }
  ProcessIdentity spared = identity_of(child);
  CHECK(descendants_of(getpid(), spared).empty());
  REQUIRE(spared.started);
  spared.started = *spared.started - 1;
  CHECK(descendants_of(getpid(), spared) == std::vector<pid_t>{child});
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}
