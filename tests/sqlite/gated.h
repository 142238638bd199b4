#pragma once

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
#include <vector>

#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_gate.h"
#include "support/asleep.h"
#include "support/open_descriptors.h"

namespace distlock::testing {

namespace fs = std::filesystem;

using namespace std::chrono_literals;

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

inline std::string contents_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Enters and leaves so often, and counts the times at which another was in.
inline int met_in(const std::string& database, std::atomic<int>& inside) {
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
inline void check_one_at_a_time(const std::string& database) {
  std::atomic<int> inside = 0;
  std::array<int, 3> met{-1, -1, -1};
  boost::thread_group threads;
  for (int& one : met) threads.create_thread([&] { one = met_in(database, inside); });
  threads.join_all();
  CHECK(met == std::array<int, 3>{0, 0, 0});
}

// As a call that has to wait for another program's write, and gives up.
inline void meet_a_writer(Store& store, const fs::path& file) {
  SqliteFile other(file.string());
  other.execute("BEGIN IMMEDIATE");
  CHECK(error_of([&] { store.ping("holder"); }));
  other.execute("ROLLBACK");
}

inline std::shared_ptr<Store> open_hasty(const fs::path& file, const std::string& options = {}) {
  return open_store(ConnectionString("sqlite:" + file.string() + options), {.call_limit = 200ms});
}

}  // namespace distlock::testing
