#include "cli/descendants.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <stop_token>
#include <thread>

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
  for (int i = 0; i < 1000; ++i) CHECK_NOTHROW(descendants_of(getpid(), 0));
}

TEST_CASE("where /proc does not show the processes, a loss is said to end less",
          "[cli][child][R9]") {
  const distlock::testing::TemporaryFolder empty;
  std::ostringstream err;
  warn_of_hidden_descendants(err);
  CHECK(err.str().empty());
  warn_of_hidden_descendants(err, empty.path());
  CHECK_THAT(err.str(), Catch::Contains("does not show the processes here"));
}
