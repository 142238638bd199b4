#include "stores/sqlite/sqlite_forks.h"

#include <pthread.h>
#include <sqlite3.h>

#include <cstdint>
#include <mutex>
#include <vector>

#include "distlock/error.h"
#include "fork_guard.h"
#include "text.h"

namespace distlock {
namespace {

struct Opened {
  sqlite3* db;
  std::uint64_t in;  // fork_generation()
};

// No fork happens while somebody has the mutex.
struct Use {
  std::mutex mutex;
  int inside = 0;
  bool forked_inside = false;
  std::vector<Opened> all;
};

// Never destroyed: stores may outlive all statics.
Use& use() {
  static auto& only_one = *new Use;
  return only_one;
}

void before_fork() { use().mutex.lock(); }

void in_parent() { use().mutex.unlock(); }

void in_child() {
  use().forked_inside = use().forked_inside || use().inside > 0;
  use().inside = 0;
  use().mutex.unlock();
}

[[maybe_unused]] const int kWatched = (use(), pthread_atfork(before_fork, in_parent, in_child));

// The kernel's locks are the parent's, so this lets go of none. It must not move the log into the
// file, nor remove it.
void close_in_child(sqlite3* db) noexcept {
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  while (sqlite3_stmt* const statement = sqlite3_next_stmt(db, nullptr)) {
    sqlite3_finalize(statement);
  }
  sqlite3_close_v2(db);
}

}  // namespace

InSqlite::InSqlite() {
  const std::lock_guard<std::mutex> lock(use().mutex);
  ++use().inside;
}

InSqlite::~InSqlite() {
  if (!counts_) return;
  const std::lock_guard<std::mutex> lock(use().mutex);
  --use().inside;
}

void forget_connections_of_parent(const std::string& path) {
  const std::lock_guard<std::mutex> lock(use().mutex);
  if (use().forked_inside) {
    throw Error(Errc::forked,
                "open " + in_quotes(path) +
                    ": this process was forked while another thread was using SQLite, which would "
                    "wait here for that thread for ever; fork while no other thread uses a lock on "
                    "a SQLite file, or before any does, or execute a program");
  }
  std::erase_if(use().all, [](const Opened& one) {
    if (one.in == fork_generation()) return false;
    close_in_child(one.db);
    return true;
  });
}

void note_opened(sqlite3* db) {
  const std::lock_guard<std::mutex> lock(use().mutex);
  use().all.push_back({db, fork_generation()});
}

void note_closing(sqlite3* db) noexcept {
  const std::lock_guard<std::mutex> lock(use().mutex);
  std::erase_if(use().all, [&](const Opened& one) { return one.db == db; });
}

}  // namespace distlock
