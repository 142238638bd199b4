// The words of a bell's file.
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "distlock/clock.h"
#include "sqlite/belfry.h"
#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_bell.h"
#include "support/captured_log.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// As each version finds words: FNV-1a, folded.
std::size_t hash_of_every_version(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

std::size_t word_of_process(std::string_view process) {
  return 32 + hash_of_every_version(process) % 480;
}

std::size_t word_of_lock(std::string_view process, std::string_view lock) {
  return 512 + hash_of_every_version(std::string(process) + '\0' + std::string(lock)) % 512;
}

/// Another process that sleeps on the word of this one.
std::string process_beside(std::string_view process) {
  int number = 0;
  std::string name;
  do {
    name = "process " + std::to_string(++number);
  } while (word_of_process(name) != word_of_process(process));
  return name;
}

}  // namespace

TEST_CASE("garbage in a bell's words causes false rings and loses none", "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  Waiting waiting(bell);
  std::fstream words(belfry.file, std::ios::in | std::ios::out);
  words.seekp(128);
  words << std::string(4096 - 128, '\xFF') << std::flush;
  waiting.until_heard(0, [&] { bell.ring("mail", {"waiter"}); });
  const int before = waiting.heard();
  bell.ring("jobs", {"waiter"});
  waiting.until_heard(before, [] {});
}

TEST_CASE("a ring where nobody has listened makes no bell", "[sqlite][bell]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  bell.ring("jobs", {"waiter"});
  CHECK_FALSE(fs::exists(belfry.file));
}

TEST_CASE("a bell has words for locks of any name", "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  Waiting waiting(bell);
  // So many that each word for locks is one of theirs.
  for (int i = 0; i < 8000; ++i) bell.attend("waiter", new_token(), "lock" + std::to_string(i));
  waiting.until_heard(0, [&] { bell.ring("jobs", {"waiter"}); });
  CHECK(waiting.heard() > 0);
}

TEST_CASE("a ring by an earlier version is heard", "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  Waiting waiting(bell);
  SqlitePage page(belfry.database, "-bell", "distlock bell 1\n");
  REQUIRE(page.open());
  waiting.until_heard(0, [&] {
    page.add_one(word_of_lock("waiter", "jobs"));
    page.ring(word_of_process("waiter"), 1'000);
  });
  CHECK(waiting.heard() > 0);
}

TEST_CASE("a ring wakes each process that sleeps on its word", "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  const std::string another = process_beside("waiter");
  Waiting waiting(bell);
  Waiting beside(bell, another);
  beside.until_heard(0, [&] { bell.ring("jobs", {another}); });
  waiting.until_heard(0, [&] { bell.ring("jobs", {"waiter"}); });
  // A bell that wakes only the first sleeper misses this process at one of the two rings.
  for (int i = 0; i < 2; ++i) {
    waiting.until_asleep();
    beside.until_asleep();
    const int before = waiting.heard();
    bell.ring("jobs", {"waiter"});
    waiting.until_heard(before, [] {});
  }
}

TEST_CASE("all rings of two threads that ring at once count", "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  Waiting waiting(bell);
  SqlitePage page(belfry.database, "-bell", "distlock bell 1\n");
  REQUIRE(page.open());
  boost::barrier both(2);
  boost::thread_group threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.create_thread([&] {
      both.wait();
      for (int i = 0; i < 5000; ++i) bell.ring("jobs", {"waiter"});
    });
  }
  threads.join_all();
  CHECK(page.word(word_of_lock("waiter", "jobs")) == 10'000);
  waiting.until_heard(0, [] {});
}
