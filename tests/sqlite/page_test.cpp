#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_gate.h"
#include "stores/sqlite/sqlite_page.h"
#include "support/asleep.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Files beside a database that processes share, whatever others put in their place.

TEST_CASE("a link to another database's page is no page", "[sqlite][R12][R19]") {
  const TemporaryFolder folder;
  const std::string ours = (folder.path() / "ours.db").string();
  const std::string theirs = (folder.path() / "theirs.db").string();
  std::ofstream(ours).close();
  std::ofstream(theirs).close();
  SqlitePage page(theirs, "-bell", "distlock bell 1\n");
  page.make();
  REQUIRE(page.open());
  std::filesystem::create_symlink(page.path(), ours + "-bell");
  SqlitePage linked(ours, "-bell", "distlock bell 1\n");
  CHECK_FALSE(linked.open());
}

TEST_CASE("a page leaves alone what the program has opened by its number", "[sqlite][R19]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "locks.db").string();
  std::ofstream(database).close();
  SqlitePage page(database, "-bell", "distlock bell 1\n");
  page.make();
  REQUIRE(page.open());
  const int number = page.file();
  REQUIRE(dup2(STDOUT_FILENO, number) == number);
  SECTION("when it is closed") { page.close(); }
  SECTION("when it is opened anew") { CHECK(page.open()); }
  CHECK(page.file() != number);
  CHECK(close(number) == 0);
}

TEST_CASE("a gate lets a writer that waits come first after each fourth time", "[sqlite][gate]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "locks.db").string();
  std::ofstream(database).close();
  // The log is there as long as a process has the database open.
  std::ofstream(database + "-wal").close();
  SqliteGate gate(database);
  gate.make();
  const BootTimeAhead passed;
  for (int i = 1; i <= 12; ++i) {
    CAPTURE(i);
    REQUIRE(gate.enter(since_boot() + 1min));
    std::atomic<pid_t> id = 0;
    boost::thread waiter([&] {  // It comes no further.
      SqlitePage page(database, "-gate", "distlock gate 1\n");
      page.open();
      id = gettid();
      page.wait(0, page.word(0), 1min);
    });
    while (id == 0 || !asleep(id)) boost::this_thread::yield();
    gate.leave();
    waiter.join();
    if (i % 4 != 0) continue;
    CHECK_FALSE(gate.enter(since_boot() + 5ms));
    passed.add(1min);  // It is not ignored any more.
  }
}
