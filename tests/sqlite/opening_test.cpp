// Many who open one new file at once: what is written then, and by whom.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <boost/thread/thread.hpp>
#include <fstream>
#include <string_view>

#include "distlock/stores.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_schema.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr int kCrowd = 8;
// The one after the first answer, from which on the thread has one view of the file.
constexpr const char* kSecondQuestion = "PRAGMA user_version";

/// Lets each thread that has seen a new file wait until all have. Counts the threads that make its
/// tables, and those that make its epoch.
struct Crowd {
  static int on_statement(unsigned, void* crowd, void*, void* sql) {
    auto& self = *static_cast<Crowd*>(crowd);
    const std::string_view text = static_cast<const char*>(sql);
    thread_local bool has_asked = false;
    if (text == kSecondQuestion && !std::exchange(has_asked, true)) self.all_ask.arrive_and_wait();
    thread_local bool has_made = false;
    if (text.starts_with("BEGIN IMMEDIATE") && !std::exchange(has_made, true)) ++self.of_tables;
    if (text.starts_with("INSERT")) ++self.of_epoch;
    return 0;
  }

  std::barrier<> all_ask{kCrowd};
  std::atomic<int> of_tables = 0;
  std::atomic<int> of_epoch = 0;
};

/// Whether this process has the lock on the file by which SQLite knows that somebody has it open.
bool is_known_to_be_open(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr off_t kSharedFirst = 0x40000002;
    constexpr off_t kSharedSize = 510;
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = kSharedFirst;
    lock.l_len = kSharedSize;
    const bool asked = fcntl(open(path.c_str(), O_RDWR | O_CLOEXEC), F_GETLK, &lock) == 0;
    _exit(asked && lock.l_type != F_UNLCK ? 0 : 1);
  }
  int status = 1;
  return waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

TEST_CASE("a file that another thread opens while it is made stays known to be open", "[sqlite]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "locks.db";
  const ConnectionString connection("sqlite:" + path);
  std::shared_ptr<Store> at_once;
  const AtNaming open_it([&] { at_once = open_store(connection, {}); });
  const auto store = open_store(connection, {});
  REQUIRE(at_once);
  CHECK(is_known_to_be_open(path));
}

TEST_CASE("a new file has one name from the beginning, whatever renames the file system knows",
          "[sqlite][R1]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "locks.db";
  const ConnectionString connection("sqlite:" + path);
  const NoSuchRename as_on_some;
  std::shared_ptr<Store> at_once;
  const AtNaming open_it([&] { at_once = open_store(connection, {}); });
  const auto store = open_store(connection, {});
  REQUIRE(at_once);
  CHECK(is_known_to_be_open(path));
  CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms(0600));
}

TEST_CASE("of many threads that open a new file at once, one makes what it lacks",
          "[sqlite][R14]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "locks.db";
  std::ofstream(path).close();
  Crowd crowd;
  std::atomic<int> whole = 0;
  boost::thread_group threads;
  for (int i = 0; i < kCrowd; ++i) {
    threads.create_thread([&] {
      const auto error = error_of([&] {
        const SqliteDatabase db(path, 1min);
        sqlite3_trace_v2(db.handle(), SQLITE_TRACE_STMT, Crowd::on_statement, &crowd);
        prepare_schema(db);
        epoch_of(db, "a clock");
      });
      if (!error) ++whole;
    });
  }
  threads.join_all();
  CHECK(whole == kCrowd);
  CHECK(crowd.of_tables == 1);
  CHECK(crowd.of_epoch == 1);
}
