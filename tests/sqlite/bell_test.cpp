// The bell of those who wait for locks in a SQLite file.
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>

#include "distlock/clock.h"
#include "sqlite/belfry.h"
#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_bell.h"
#include "support/captured_log.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST_CASE("a ring is heard in another process, and so is the next when a ringer was killed",
          "[sqlite][bell][R19][forks]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  Waiting waiting(bell);
  {
    Ringer ringer(belfry.database);
    waiting.until_heard(waiting.heard(), [] {});
    ringer.end();
  }
  waiting.until_heard(waiting.heard(),
                      [&] { SqliteBell(belfry.database).ring("jobs", {"waiter"}); });
}

TEST_CASE("a ring between attend() and the look is heard once", "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  SqliteBell another(belfry.database);
  for (int i = 0; i < 200; ++i) {
    Waiting waiting(bell);
    another.ring("jobs", {"waiter"});
    waiting.until_heard(0, [] {});
    CHECK(waiting.heard() == 1);
  }
}

TEST_CASE("rings for other locks, other processes and places that were left are not heard",
          "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  Waiting waiting(bell);
  bell.ring("mail", {"waiter"});
  bell.ring("jobs", {"somebody"});
  waiting.leave();
  bell.ring("jobs", {"waiter"});
  // The rings after them are heard, and no others.
  bell.attend("waiter", new_token(), "jobs");
  bell.ring("jobs", {"waiter"});
  waiting.until_heard(0, [] {});
  CHECK(waiting.heard() == 1);
}

TEST_CASE("another thing in the place of a bell is left alone, and nobody fails",
          "[sqlite][bell][R19]") {
  const Belfry belfry;
  const auto theirs = belfry.folder.path() / "theirs";
  const std::string text(4096, 'a');
  std::ofstream(theirs) << text;
  SECTION("a folder") { fs::create_directory(belfry.file); }
  SECTION("a pipe") { REQUIRE(mkfifo(belfry.file.c_str(), 0600) == 0); }
  SECTION("a link") { fs::create_symlink(theirs, belfry.file); }
  SECTION("a second name") { fs::create_hard_link(theirs, belfry.file); }
  SECTION("a file of theirs") { fs::copy_file(theirs, belfry.file); }
  SECTION("a file of no bytes") { std::ofstream(belfry.file).close(); }
  {
    SqliteBell bell(belfry.database, 1h);
    Waiting waiting(bell);
    CHECK_NOTHROW(bell.ring("jobs", {"waiter"}));
    CHECK(waiting.heard() == 0);
  }
  CHECK(fs::exists(belfry.file));
  CHECK(text_in(theirs) == text);
  if (fs::is_regular_file(belfry.file) && fs::file_size(belfry.file) > 0) {
    CHECK(text_in(belfry.file) == text);
  }
}

TEST_CASE("a bell that cannot be had is told of once, however often a listener looks for it",
          "[sqlite][bell][R19]") {
  const Belfry belfry;
  std::ofstream(belfry.file) << std::string(4096, 'a');
  const int opened = inotify_init1(IN_CLOEXEC);
  REQUIRE(inotify_add_watch(opened, belfry.file.c_str(), IN_OPEN) >= 0);
  Captured log;
  SqliteBell bell(belfry.database, 1ms);
  std::array<char, 4096> events{};
  for (int listener = 0; listener < 2; ++listener) {
    const Waiting waiting(bell);
    // Each look opens it twice.
    for (int i = 0; i < 10; ++i) REQUIRE(read(opened, events.data(), events.size()) > 0);
  }
  close(opened);
  CHECK(log.count(severity_level::warning, "cannot be used") == 1);
}

TEST_CASE("of two who begin to listen at once both hear", "[sqlite][bell][R19]") {
  for (int i = 0; i < 100; ++i) {
    const Belfry belfry;
    SqliteBell bell(belfry.database, 1h);
    SqliteBell another(belfry.database, 1h);
    std::optional<Waiting> second;
    boost::thread thread([&] { second.emplace(another); });
    Waiting first(bell);
    thread.join();
    bell.ring("jobs", {"waiter"});
    first.until_heard(0, [] {});
    second->until_heard(0, [] {});
  }
}

TEST_CASE("a bell that is removed while somebody listens is made again, and heard",
          "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database);
  Waiting waiting(bell);
  fs::remove(belfry.file);
  waiting.until_heard(0, [&] { bell.ring("jobs", {"waiter"}); });
  CHECK(fs::file_size(belfry.file) == 4096);
}

TEST_CASE("a bell that is cut short while somebody listens harms nobody", "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database);
  {
    Waiting waiting(bell);
    bell.ring("jobs", {"waiter"});
    waiting.until_heard(0, [] {});
    fs::resize_file(belfry.file, 0);
    CHECK_NOTHROW(bell.ring("jobs", {"waiter"}));
    const Token ticket = new_token();
    CHECK_NOTHROW(bell.attend("waiter", ticket, "mail"));
    bell.ignore(ticket);
  }
  // Once it is removed there is a bell again.
  fs::remove(belfry.file);
  Waiting waiting(bell);
  bell.ring("jobs", {"waiter"});
  waiting.until_heard(0, [] {});
}

TEST_CASE("a place that could not be taken is rung for no more", "[sqlite][bell][R20]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto store = open_store(ConnectionString("sqlite:" + file.string()), {.call_limit = 200ms});
  held(*store, "jobs");
  held(*store, "mail");
  std::atomic<int> jobs = 0;
  std::atomic<int> mail = 0;
  const auto listening = store->line()->listen(
      "waiter", [&](std::string_view name) { ++(name == "jobs" ? jobs : mail); });
  Claim claim = claim_by(*store, "waiter");
  claim.ts = Token{{1}};  // Listeners look at tickets in their order.
  {
    SqliteFile other(file.string());
    other.execute("BEGIN IMMEDIATE");
    CHECK(error_of([&] { store->line()->stand("jobs", claim); }));
  }
  claim.ts = Token{{2}};
  REQUIRE(store->line()->stand("mail", claim).in_line);
  store->line()->ring("jobs", {"waiter"});
  store->line()->ring("mail", {"waiter"});
  CHECK(comes([&] { return mail > 0; }));
  CHECK(jobs == 0);
}

TEST_CASE("a listener that ends leaves no thread and no descriptor", "[sqlite][bell]") {
  const TemporaryFolder folder;
  const auto store = open_at(folder.path() / "locks.db");
  store->line()->listen("waiter", [](std::string_view) {});
  const int threads = entries_of("/proc/self/task");
  const int descriptors = entries_of("/proc/self/fd");
  const auto begun = host_clock()->steady_now();
  for (int i = 0; i < 50; ++i) {
    const auto listening = store->line()->listen("waiter", [](std::string_view) {});
    store->line()->ring("jobs", {"waiter"});
  }
  // It does not sleep out the time until its next look.
  CHECK(host_clock()->steady_now() - begun < 50s);
  // A thread that was joined is in that list for a moment still.
  CHECK(comes([&] { return entries_of("/proc/self/task") <= threads; }));
  CHECK(entries_of("/proc/self/fd") == descriptors);
}

TEST_CASE("a bell has the mode of its database, and goes when the last has closed it",
          "[sqlite][bell]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto bell = folder.path() / "locks.db-bell";
  auto store = open_at(path);
  fs::permissions(path, fs::perms{0640});
  auto listening = store->line()->listen("waiter", [](std::string_view) {});
  REQUIRE(fs::exists(bell));
  CHECK(fs::status(bell).permissions() == fs::perms{0640});
  auto another = open_at(path);
  listening.reset();
  store.reset();
  CHECK(fs::exists(bell));
  another.reset();
  CHECK(entries_of(folder.path()) == 1);
}
