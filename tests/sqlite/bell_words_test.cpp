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

namespace {

// As each version finds words: FNV-1a, folded.
std::size_t hash_of_every_version(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
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
  const std::string both = std::string("waiter") + '\0' + "jobs";
  const std::size_t of_lock = 512 + hash_of_every_version(both) % 512;
  const std::size_t of_process = 32 + hash_of_every_version("waiter") % 480;
  waiting.until_heard(0, [&] {
    page.add_one(of_lock);
    page.ring(of_process, 1'000);
  });
  CHECK(waiting.heard() > 0);
}
