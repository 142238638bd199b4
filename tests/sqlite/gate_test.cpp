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
#include <iterator>

#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_gate.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

std::chrono::milliseconds in_a_minute() { return since_boot() + 60s; }

/// A database whose gate is there.
struct Gated {
  Gated() {
    std::ofstream(database).close();
    // The log is there as long as a process has the database open.
    std::ofstream(database + "-wal").close();
    SqliteGate(database).make();
  }

  TemporaryFolder folder;
  std::string database = (folder.path() / "locks.db").string();
  fs::path gate = database + "-gate";
};

/// A writer that is in the gate and does not leave.
class Sitter {
 public:
  explicit Sitter(const fs::path& gate) : file_(open(gate.c_str(), O_RDWR | O_CLOEXEC)) {
    REQUIRE(flock(file_, LOCK_EX | LOCK_NB) == 0);
  }
  ~Sitter() { close(file_); }
  Sitter(const Sitter&) = delete;
  Sitter& operator=(const Sitter&) = delete;

 private:
  int file_;
};

std::ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

std::string contents_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Until the thread sleeps.
void await_sleep(const std::atomic<pid_t>& thread) {
  std::string id;
  std::string name;
  std::string state;
  while (state != "S") {
    std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat") >> id >> name >> state;
  }
}

// Enters and leaves so often, and counts the times at which another was in.
int met_in(const std::string& database, std::atomic<int>& inside) {
  SqliteGate gate(database);
  int met = 0;
  for (int i = 0; i < 300; ++i) {
    if (!gate.enter(in_a_minute())) return -1;
    if (++inside != 1) ++met;
    --inside;
    gate.leave();
  }
  return met;
}

// Of three at once, each with its own descriptors, as processes have.
void check_one_at_a_time(const std::string& database) {
  std::atomic<int> inside = 0;
  std::array<int, 3> met{-1, -1, -1};
  boost::thread_group threads;
  for (int& one : met) threads.create_thread([&] { one = met_in(database, inside); });
  threads.join_all();
  CHECK(met == std::array<int, 3>{0, 0, 0});
}

// As a call that has to wait for another program's write, and gives up.
void meet_a_writer(Store& store, const fs::path& file) {
  SqliteFile other(file.string());
  other.execute("BEGIN IMMEDIATE");
  CHECK(error_of([&] { store.ping("holder"); }));
  other.execute("ROLLBACK");
}

std::shared_ptr<Store> open_hasty(const fs::path& file, const std::string& options = {}) {
  return open_store(ConnectionString("sqlite:" + file.string() + options), {.call_limit = 200ms});
}

}  // namespace

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
    // Less than the time after which it would look again.
    REQUIRE(first.enter(since_boot() + 5ms));
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
  {
    const Sitter sitter(gated.gate);
    CHECK_FALSE(gate.enter(since_boot() + 20ms));
    CHECK_NOTHROW(store->ping("holder"));
    CHECK_NOTHROW(held(*store, "jobs"));
  }
  CHECK_FALSE(gate.enter(in_a_minute()));
  CHECK(SqliteGate(gated.database).enter(in_a_minute()));
}

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

TEST_CASE("without syncs there is no gate", "[sqlite][gate]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto store = open_hasty(file, "?synchronous=off");
  meet_a_writer(*store, file);
  CHECK_FALSE(fs::exists(file.string() + "-gate"));
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
