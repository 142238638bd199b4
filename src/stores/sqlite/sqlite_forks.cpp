#include "stores/sqlite/sqlite_forks.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <memory>
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
  std::shared_ptr<const OwnDescriptor> log = nullptr;
};

// Only those inside take its mutex, so no fork happens while it is held.
struct OpenedByAll {
  std::mutex mutex;
  std::vector<Opened> all;
};

// Never destroyed: stores may outlive all statics.
OpenedByAll& opened() {
  static auto& only_one = *new OpenedByAll;
  return only_one;
}

using Close = int (*)(int);
using Fcntl = int (*)(int, int, ...);

thread_local bool forgets = false;
// Kept afterwards: another thread may be about to call ours.
std::atomic<Close> close_of_system = nullptr;
std::atomic<Fcntl> fcntl_of_system = nullptr;

int close_unless_forgetting(int descriptor) {
  return forgets ? 0 : close_of_system.load()(descriptor);
}

// NOLINTNEXTLINE(cert-dcl50-cpp): SQLite calls it as it calls fcntl().
int fcntl_unless_forgetting(int descriptor, int operation, ...) {
  if (forgets) return 0;
  va_list rest;
  va_start(rest, operation);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl_of_system.load()(descriptor, operation, argument);
}

// All of SQLite's ways to use files under Unix share these calls of the system.
sqlite3_vfs* files() { return sqlite3_vfs_find("unix"); }

template <class Call>
void put(const char* name, Call call) {
  files()->xSetSystemCall(files(), name, reinterpret_cast<sqlite3_syscall_ptr>(call));
}

// Notes in `before` what SQLite called until now, before another thread can meet `call`.
template <class Call>
void replace(const char* name, Call call, std::atomic<Call>& before) {
  before = reinterpret_cast<Call>(files()->xGetSystemCall(files(), name));
  put(name, call);
}

/// While it lives, SQLite leaves the descriptors of files as they are if this thread calls it. The
/// child may have closed its parent's, or the program all, and have files of its own by their
/// numbers. One at a time.
class Forgetting {
 public:
  Forgetting() {
    replace("close", close_unless_forgetting, close_of_system);
    replace("fcntl", fcntl_unless_forgetting, fcntl_of_system);
    forgets = true;
  }
  ~Forgetting() {
    forgets = false;
    put("close", close_of_system.load());
    put("fcntl", fcntl_of_system.load());
  }
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;
};

// It must not move the log into the file, nor remove it.
void close_forgetting(sqlite3* db) {
  const Forgetting forgetting;
  sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  while (sqlite3_stmt* const statement = sqlite3_next_stmt(db, nullptr)) {
    sqlite3_finalize(statement);
  }
  sqlite3_close_v2(db);
}

}  // namespace

void forget_connections_of_parent(const std::string& path) {
  check_no_call_was_forked(Library::sqlite, "open " + in_quotes(path));
  const std::lock_guard<std::mutex> lock(opened().mutex);
  std::erase_if(opened().all, [](const Opened& one) {
    if (one.in == fork_generation()) return false;
    close_forgetting(one.db);
    return true;
  });
  const bool lost = std::any_of(opened().all.begin(), opened().all.end(),
                                [](const Opened& one) { return one.log && !one.log->is_there(); });
  if (!lost) return;
  throw Error(Errc::not_applied,
              "open " + in_quotes(path) +
                  ": this program has closed all its descriptors, those of open SQLite files "
                  "included; destroy the stores and locks of these files first");
}

void note_opened(sqlite3* db) {
  const std::lock_guard<std::mutex> lock(opened().mutex);
  opened().all.push_back({db, fork_generation()});
}

void close_without_files(sqlite3* db) noexcept {
  const std::lock_guard<std::mutex> lock(opened().mutex);
  std::erase_if(opened().all, [&](const Opened& one) { return one.db == db; });
  close_forgetting(db);
}

void note_descriptor(sqlite3* db, const std::shared_ptr<const OwnDescriptor>& log) {
  const std::lock_guard<std::mutex> lock(opened().mutex);
  for (Opened& one : opened().all) {
    if (one.db == db) one.log = log;
  }
}

void note_closing(sqlite3* db) noexcept {
  const std::lock_guard<std::mutex> lock(opened().mutex);
  std::erase_if(opened().all, [&](const Opened& one) { return one.db == db; });
}

}  // namespace distlock
