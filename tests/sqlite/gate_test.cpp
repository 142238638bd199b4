// The gate of the writers of one file.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

#include "sqlite/file_under_fault.h"
#include "sqlite/gated.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_gate.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST_CASE("a gate lets in one at a time", "[sqlite][gate]") {
  const Gated gated;
  check_one_at_a_time(gated.database);
}

TEST_CASE("rubbish in a gate's words lets in one at a time", "[sqlite][gate]") {
  const Gated gated;
  std::fstream(gated.gate, std::ios::in | std::ios::out) << std::string(64, '\xFF');
  check_one_at_a_time(gated.database);
}

TEST_CASE("a gate is for all users who may write the database, whatever the umask",
          "[sqlite][gate][R12]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "locks.db").string();
  std::ofstream(database).close();
  std::ofstream(database + "-wal").close();
  fs::permissions(database, fs::perms(0660));
  const mode_t before = umask(0077);
  SqliteGate(database).make();
  umask(before);
  CHECK(fs::status(database + "-gate").permissions() == fs::perms(0660));
}

TEST_CASE("a gate that lets another writer come first opens again after it", "[sqlite][gate]") {
  const Gated gated;
  SqliteGate first(gated.database);
  for (int i = 0; i < 20; ++i) {
    CAPTURE(i);
    // Of the end, of the beginning, and of each look that it has to take again.
    int readings = 0;
    const AtClockReading counted(CLOCK_BOOTTIME, AtClockReading::When::before, [&] { ++readings; });
    REQUIRE(first.enter(in_a_minute()));
    CHECK(readings == 2);
    std::atomic<pid_t> id = 0;
    boost::thread other([&] {
      SqliteGate second(gated.database);
      id = gettid();
      if (second.enter(in_a_minute())) second.leave();
    });
    await_sleep(id);
    first.leave();
    other.join();
  }
}

TEST_CASE("a gate is free when the one in it is killed", "[sqlite][gate]") {
  const Gated gated;
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    SqliteGate gate(gated.database);
    const char in = gate.enter(in_a_minute()) ? 'y' : 'n';
    if (write(ends[1], &in, 1) == 1) pause();
    _exit(1);
  }
  char in = 0;
  REQUIRE(read(ends[0], &in, 1) == 1);
  CHECK(in == 'y');
  SqliteGate gate(gated.database);
  CHECK_FALSE(gate.enter(since_boot() + 20ms));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(SqliteGate(gated.database).enter(in_a_minute()));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("a gate that lets nobody in is passed by, and then ignored for a while",
          "[sqlite][gate][R12]") {
  const Gated gated;
  fs::remove(gated.database);
  const auto store = open_hasty(gated.database);
  SqliteGate gate(gated.database);
  const BootTimeAhead ahead;
  {
    const Sitter sitter(gated.gate);
    {
      // A long wait by this thread's clock.
      const AtClockReading longer(CLOCK_BOOTTIME, AtClockReading::When::before,
                                  [&] { ahead.add(1s); });
      CHECK_FALSE(gate.enter(since_boot() + 20s));
    }
    CHECK_NOTHROW(store->ping("holder"));
    CHECK_NOTHROW(held(*store, "jobs"));
  }
  CHECK_FALSE(gate.enter(in_a_minute()));
  CHECK(SqliteGate(gated.database).enter(in_a_minute()));
}

TEST_CASE("a gate's file that is cut short or removed while in use harms nobody",
          "[sqlite][gate]") {
  const Gated gated;
  SqliteGate first(gated.database);
  REQUIRE(first.enter(in_a_minute()));
  boost::thread second([&] {
    SqliteGate gate(gated.database);
    gate.enter(in_a_minute());
    gate.leave();
  });
  SECTION("cut short") { fs::resize_file(gated.gate, 0); }
  SECTION("removed") { fs::remove(gated.gate); }
  first.leave();
  second.join();
  CHECK_FALSE(first.enter(in_a_minute()));
  first.leave();
}

TEST_CASE("a writer whose gate was removed comes to the new one with its next write",
          "[sqlite][gate]") {
  const Gated gated;
  SqliteGate first(gated.database);
  REQUIRE(first.enter(in_a_minute()));
  fs::remove(gated.gate);
  SqliteGate second(gated.database);
  second.make();
  REQUIRE(second.enter(in_a_minute()));
  first.leave();
  CHECK_FALSE(first.enter(since_boot() + 20ms));
}

TEST_CASE("a gate leaves no descriptor behind, whatever stands in its place", "[sqlite][gate]") {
  const Gated gated;
  const auto before = open_descriptors();
  for (int i = 0; i < 5; ++i) {
    {
      SqliteGate gate(gated.database);
      REQUIRE(gate.enter(in_a_minute()));
      gate.leave();
      // Removed and made anew: the old one is let go of.
      fs::remove(gated.gate);
      CHECK_FALSE(gate.enter(in_a_minute()));
      gate.make();
      REQUIRE(gate.enter(in_a_minute()));
      gate.leave();
    }
    const Sitter sitter(gated.gate);
    SqliteGate shut_out(gated.database);
    CHECK_FALSE(shut_out.enter(since_boot() + 20ms));
  }
  fs::remove(gated.gate);
  fs::create_directory(gated.gate);
  for (int i = 0; i < 5; ++i) {
    SqliteGate gate(gated.database);
    CHECK_FALSE(gate.enter(in_a_minute()));
    gate.make();
  }
  CHECK(open_descriptors() == before);
}
