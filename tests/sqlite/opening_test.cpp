// Many who open one new file at once: what is written then, and by whom.
#include <atomic>
#include <barrier>
#include <boost/thread/thread.hpp>
#include <fstream>
#include <string_view>

#include "sqlite/file_under_fault.h"
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

}  // namespace

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
