#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>

#include "distlock/stores.h"
#include "process/tool_process.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

struct End {
  int status;
  bool jobs_taken;
  std::size_t pings;
};

/// The end of a program that holds "jobs" and ends that way; it is killed if it does not.
End end_by(const std::string& way) {
  TemporaryFolder folder;
  const std::string uri = "sqlite:" + (folder.path() / "locks.db").string();
  const std::string command =
      "timeout -s KILL 120 " DISTLOCK_EXIT_PROGRAM " '" + uri + "' " + way + " >/dev/null 2>&1";
  const int status = std::system(command.c_str());
  const Listing left = open_store(ConnectionString{uri})->list();
  return {WEXITSTATUS(status), left.locks.at(0).record->taken(), left.pings.size()};
}

}  // namespace

TEST_CASE("a program that ends while a static lock holds frees it", "[process][exit]") {
  const std::string way = GENERATE("return", "exit");
  const End end = end_by(way);
  CHECK(end.status == 0);
  CHECK_FALSE(end.jobs_taken);
}

TEST_CASE("a program that ends without destructors leaves its hold to takeover",
          "[process][exit][R6]") {
  SECTION("by quick_exit") {
    const End end = end_by("quick_exit");
    CHECK(end.status == 0);
    CHECK(end.jobs_taken);
    CHECK(end.pings == 1);
  }
  SECTION("by an exception out of main") {
    const End end = end_by("throw");
    CHECK(end.status == 128 + SIGABRT);
    CHECK(end.jobs_taken);
    CHECK(end.pings == 1);
  }
}

TEST_CASE("a forked child that ends with its static objects leaves its parent's hold alone",
          "[process][exit][R16][forks]") {
  CHECK(end_by("fork").status == 0);
}

TEST_CASE("a program that forks before its first lock ends its threads before its objects",
          "[process][exit][unsanitized][R12][R16]") {
  CHECK(end_by("daemon").status == 0);
}

TEST_CASE("once a program's end has joined the threads, nothing is claimed and nobody waits",
          "[process][exit][R9][R12]") {
  CHECK(end_by("late").status == 0);
}

TEST_CASE("locks that are never destroyed do not keep a program from ending", "[process][exit]") {
  CHECK(end_by("leak").status == 0);
}
