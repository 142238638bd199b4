// The gate as stores use it.
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
#include <memory>
#include <optional>
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

TEST_CASE("writers go on where another thing is in the place of a gate, and leave it alone",
          "[sqlite][gate][R12]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto gate = folder.path() / "locks.db-gate";
  const auto theirs = folder.path() / "theirs";
  const std::string text(4096, 'a');
  std::ofstream(theirs) << text;
  SECTION("a folder") { fs::create_directory(gate); }
  SECTION("a pipe") { REQUIRE(mkfifo(gate.c_str(), 0600) == 0); }
  SECTION("a link") { fs::create_symlink(theirs, gate); }
  SECTION("a second name") { fs::create_hard_link(theirs, gate); }
  SECTION("a file of theirs") { fs::copy_file(theirs, gate); }
  SECTION("a file of no bytes") { std::ofstream(gate).close(); }
  {
    const auto store = open_hasty(file);
    meet_a_writer(*store, file);
    CHECK_NOTHROW(store->ping("holder"));
    const LockRecord lock = held(*store, "jobs");
    CHECK(store->release("jobs", *lock.ts) == ReleaseResult::freed);
    CHECK_FALSE(SqliteGate(file.string()).enter(since_boot() + 20ms));
  }
  CHECK(fs::exists(gate));
  CHECK(contents_of(theirs) == text);
  if (fs::is_regular_file(gate) && fs::file_size(gate) > 0) CHECK(contents_of(gate) == text);
}

TEST_CASE("there is a gate once two writers have met, and none when the last has closed",
          "[sqlite][gate]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto gate = folder.path() / "locks.db-gate";
  auto store = open_hasty(file);
  const auto mode = GENERATE(fs::perms{0600}, fs::perms{0640});
  fs::permissions(file, mode);
  held(*store, "jobs");
  CHECK_FALSE(fs::exists(gate));
  meet_a_writer(*store, file);
  REQUIRE(fs::exists(gate));
  CHECK(fs::status(gate).permissions() == mode);
  CHECK_NOTHROW(store->ping("holder"));

  auto another = open_hasty(file);
  store.reset();
  CHECK(fs::exists(gate));
  another.reset();
  CHECK_FALSE(fs::exists(gate));
}

TEST_CASE("a write whose file is moved away while it waits at the gate is refused",
          "[sqlite][gate][R1]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto hasty = open_hasty(file);
  meet_a_writer(*hasty, file);
  const auto store = open_at(file);
  const Claim claim = claim_by(*store, "holder");
  auto sitter = std::make_unique<Sitter>(file.string() + "-gate");
  std::atomic<pid_t> id = 0;
  std::optional<Error> refusal;
  boost::thread writer([&] {
    id = gettid();
    refusal = error_of([&] { store->claim("jobs", FromAbsent{}, claim); });
  });
  await_sleep(id);
  fs::rename(file, folder.path() / "moved.db");
  sitter.reset();
  writer.join();
  REQUIRE(refusal);
  CHECK(refusal->errc() == Errc::store_replaced);
}

TEST_CASE("a write waits at the gate for half of its time, and keeps the rest for other writers",
          "[sqlite][gate][R12]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto hasty = open_hasty(file);
  meet_a_writer(*hasty, file);
  const auto store = open_at(file, {.call_limit = 60s});
  const Sitter sitter(file.string() + "-gate");
  const BootTimeAhead passed;
  {
    // A long wait by this thread's clock.
    const AtClockReading longer(CLOCK_BOOTTIME, AtClockReading::When::before,
                                [&] { passed.add(1s); });
    CHECK_NOTHROW(store->ping("holder"));
  }
  CHECK(passed.all() < 45s);
}

TEST_CASE("without syncs there is no gate", "[sqlite][gate]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto store = open_hasty(file, "?synchronous=off");
  meet_a_writer(*store, file);
  CHECK_FALSE(fs::exists(file.string() + "-gate"));
}

TEST_CASE("a ping of a store comes before the calls that wait for its connection already",
          "[sqlite][R12]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto store = open_at(file);
  SqliteFile other(file.string());
  other.execute(
      "CREATE TABLE came(what);"
      "CREATE TRIGGER of_locks AFTER INSERT ON locks BEGIN INSERT INTO came VALUES(new._id); END;"
      "CREATE TRIGGER of_pings AFTER INSERT ON lockpings BEGIN INSERT INTO came VALUES('ping'); "
      "END");
  std::vector<Claim> claims;
  for (const char* const process : {"a", "b", "c", "d", "e"}) {
    claims.push_back(claim_by(*store, process));
  }
  other.execute("BEGIN IMMEDIATE");
  boost::thread_group threads;
  const auto begin = [&](const std::function<void()>& call, const auto& await) {
    std::atomic<pid_t> id = 0;
    threads.create_thread([&id, call] {
      id = gettid();
      error_of(call);
    });
    await(id);
  };
  // The first has the connection and looks for the other writer's end, and the next ones wait for
  // the first.
  for (const Claim& claim : claims) {
    begin([&store, claim] { store->claim(claim.process, FromAbsent{}, claim); },
          claim.process == "a" ? await_naps : await_sleep);
  }
  begin([&] { store->ping("holder"); }, await_sleep);
  other.execute("COMMIT");
  threads.join_all();
  CHECK(other.integer("SELECT count(*) FROM came") == 6);
  CHECK(other.integer("SELECT rowid FROM came WHERE what = 'ping'") == 2);
}
