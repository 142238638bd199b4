#include "stores/sqlite/sqlite_forks.h"

#include <pthread.h>
#include <sqlite3.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <mutex>
#include <vector>

#include "distlock/error.h"
#include "fork_guard.h"
#include "stores/sqlite/sqlite_clock.h"
#include "text.h"

namespace distlock {
namespace {

using namespace std::chrono_literals;

// No thread waits for longer: what it waits for may itself wait for this thread, as a handler of
// the program's for forks may.
constexpr auto kForkWaits = 100ms;
constexpr auto kCallWaits = 1s;
constexpr auto kPause = 1ms;

struct Opened {
  sqlite3* db;
  std::uint64_t in;  // fork_generation()
};

struct Use {
  std::atomic<int> inside = 0;  // threads
  std::atomic<int> forks = 0;   // under way
  bool forked_inside = false;
  std::mutex mutex;  // Of `all`. Only those inside take it, so no fork happens while it is held.
  std::vector<Opened> all;
};

// Never destroyed: stores may outlive all statics.
Use& use() {
  static auto& only_one = *new Use;
  return only_one;
}

thread_local int depth = 0;

// Calls that begin now wait, and those under way end in time unless another process writes for
// long.
void before_fork() {
  ++use().forks;
  const auto until = since_boot() + kForkWaits;
  while (use().inside > 0 && since_boot() < until) nap(kPause);
}

void in_parent() { --use().forks; }

void in_child() {
  use().forked_inside = use().forked_inside || use().inside > 0;
  use().inside = 0;
  use().forks = 0;
}

[[maybe_unused]] const int kWatched = (use(), pthread_atfork(before_fork, in_parent, in_child));

using Close = int (*)(int);
using Fcntl = int (*)(int, int, ...);

thread_local bool forgets = false;
Close close_of_system = nullptr;  // Kept afterwards: another thread may be about to call ours.
Fcntl fcntl_of_system = nullptr;

int close_unless_forgetting(int descriptor) { return forgets ? 0 : close_of_system(descriptor); }

// NOLINTNEXTLINE(cert-dcl50-cpp): SQLite calls it as it calls fcntl().
int fcntl_unless_forgetting(int descriptor, int operation, ...) {
  if (forgets) return 0;
  va_list rest;
  va_start(rest, operation);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl_of_system(descriptor, operation, argument);
}

// All of SQLite's ways to use files under Unix share these calls of the system.
sqlite3_vfs* files() { return sqlite3_vfs_find("unix"); }

template <class Call>
void put(const char* name, Call call) {
  files()->xSetSystemCall(files(), name, reinterpret_cast<sqlite3_syscall_ptr>(call));
}

// Notes in `before` what SQLite called until now, before another thread can meet `call`.
template <class Call>
void replace(const char* name, Call call, Call& before) {
  before = reinterpret_cast<Call>(files()->xGetSystemCall(files(), name));
  put(name, call);
}

/// While it lives, SQLite leaves the descriptors of files as they are if this thread calls it. The
/// child may have closed its parent's, and have files of its own by their numbers. One at a time.
class Forgetting {
 public:
  Forgetting() {
    replace("close", close_unless_forgetting, close_of_system);
    replace("fcntl", fcntl_unless_forgetting, fcntl_of_system);
    forgets = true;
  }
  ~Forgetting() {
    forgets = false;
    put("close", close_of_system);
    put("fcntl", fcntl_of_system);
  }
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;
};

// It must not move the log into the file, nor remove it.
void close_in_child(sqlite3* db) {
  const Forgetting forgetting;
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  while (sqlite3_stmt* const statement = sqlite3_next_stmt(db, nullptr)) {
    sqlite3_finalize(statement);
  }
  sqlite3_close_v2(db);
}

}  // namespace

InSqlite::InSqlite() {
  if (depth++ > 0) return;
  ++use().inside;
  if (use().forks == 0) return;
  for (const auto until = since_boot() + kCallWaits; use().forks > 0 && since_boot() < until;
       ++use().inside) {
    --use().inside;
    nap(kPause);
  }
}

InSqlite::~InSqlite() {
  if (counts_ && --depth == 0) --use().inside;
}

void forget_connections_of_parent(const std::string& path) {
  if (use().forked_inside) {
    throw Error(Errc::forked,
                "open " + in_quotes(path) +
                    ": this process was forked in the middle of another thread's call of SQLite "
                    "(perhaps of a ping), so SQLite could hang here; fork before the first lock on "
                    "a SQLite file, or execute a program");
  }
  const std::lock_guard<std::mutex> lock(use().mutex);
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
