#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

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

namespace {

/// Of a new database in that folder.
std::unique_ptr<SqlitePage> opened_page(const TemporaryFolder& folder) {
  const std::string database = (folder.path() / "locks.db").string();
  std::ofstream(database).close();
  auto page = std::make_unique<SqlitePage>(database, "-bell", "distlock bell 1\n");
  page->make();
  REQUIRE(page->open());
  return page;
}

/// Whether this process has a file of that folder in its memory, be it removed by now.
bool maps_a_file_of(const TemporaryFolder& folder) {
  std::ifstream maps("/proc/self/maps");
  const std::string text(std::istreambuf_iterator<char>(maps), {});
  return text.find(folder.path().filename().string()) != text.npos;
}

/// While it lives, SIGUSR1 interrupts what a thread is at, and no more.
class QuietSignal {
 public:
  QuietSignal() {
    struct sigaction quiet {};
    quiet.sa_handler = [](int) {};
    sigaction(SIGUSR1, &quiet, &before_);
  }
  ~QuietSignal() { sigaction(SIGUSR1, &before_, nullptr); }
  QuietSignal(const QuietSignal&) = delete;
  QuietSignal& operator=(const QuietSignal&) = delete;

 private:
  struct sigaction before_ {};
};

}  // namespace

TEST_CASE("a link to another database's page is no page", "[sqlite][R12][R19]") {
  const TemporaryFolder folder;
  const std::string ours = (folder.path() / "ours.db").string();
  const std::string theirs = (folder.path() / "theirs.db").string();
  std::ofstream(ours).close();
  std::ofstream(theirs).close();
  SqlitePage page(theirs, "-bell", "distlock bell 1\n");
  page.make();
  REQUIRE(page.open());
  SECTION("a symbolic link") { std::filesystem::create_symlink(page.path(), ours + "-bell"); }
  SECTION("a second name") { std::filesystem::create_hard_link(page.path(), ours + "-bell"); }
  SqlitePage linked(ours, "-bell", "distlock bell 1\n");
  CHECK_FALSE(linked.open());
}

TEST_CASE("a page leaves alone what the program has opened by its number", "[sqlite][R19]") {
  const TemporaryFolder folder;
  const auto opened = opened_page(folder);
  SqlitePage& page = *opened;
  const int number = page.file();
  REQUIRE(dup2(STDOUT_FILENO, number) == number);
  SECTION("when it is closed") { page.close(); }
  SECTION("when it is opened anew") { CHECK(page.open()); }
  CHECK(page.file() != number);
  CHECK(close(number) == 0);
}

TEST_CASE("a page that has ended is mapped no more", "[sqlite][R19]") {
  const TemporaryFolder folder;
  {
    const auto page = opened_page(folder);
    CHECK(maps_a_file_of(folder));
  }
  CHECK_FALSE(maps_a_file_of(folder));
}

TEST_CASE("a sleep that a signal interrupts ends as one that a ring ends", "[sqlite][R19]") {
  const QuietSignal quiet;
  const TemporaryFolder folder;
  const auto opened = opened_page(folder);
  SqlitePage& page = *opened;
  std::atomic<pid_t> id = 0;
  std::atomic<bool> has_a_page = false;
  boost::thread sleeper([&] {
    id = gettid();
    has_a_page = page.wait(0, page.word(0), 1h);
  });
  await_sleep(id);
  while (!sleeper.try_join_for(boost::chrono::milliseconds{10})) {
    pthread_kill(sleeper.native_handle(), SIGUSR1);
  }
  CHECK(has_a_page);
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
    await_sleep(id);
    gate.leave();
    waiter.join();
    if (i % 4 != 0) continue;
    CHECK_FALSE(gate.enter(since_boot() + 5ms));
    passed.add(1min);  // It is not ignored any more.
  }
}
