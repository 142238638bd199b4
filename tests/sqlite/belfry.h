#pragma once

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
#include <string>

#include "distlock/clock.h"
#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_bell.h"
#include "support/asleep.h"
#include "support/captured_log.h"

namespace distlock::testing {

namespace fs = std::filesystem;

using namespace std::chrono_literals;

/// A database that somebody has open, and its bell.
struct Belfry {
  Belfry() {
    std::ofstream(database).close();
    std::ofstream(database + "-wal").close();
  }

  TemporaryFolder folder;
  std::string database = (folder.path() / "locks.db").string();
  fs::path file = database + "-bell";
};

/// Counts what a process hears of "jobs".
class Waiting {
 public:
  explicit Waiting(SqliteBell& bell, const std::string& process = "waiter")
      : bell_(bell), listening_(bell.listen(process, [this](std::string_view name) {
          thread_ = gettid();
          if (name == "jobs") ++heard_;
        })) {
    bell_.attend(process, ticket_, "jobs");
  }

  int heard() const { return heard_; }
  /// Until it hears one more than `before`; `ring` is called again and again.
  template <class Ring>
  void until_heard(int before, const Ring& ring) {
    const auto clock = host_clock();
    const auto limit = clock->steady_now() + 30s;
    while (heard_ == before) {
      ring();
      REQUIRE(clock->steady_now() < limit);
      clock->wait_until(clock->steady_now() + 1ms, {});
    }
  }
  /// Once it has heard something: until it sleeps on the bell again.
  void until_asleep() const { await_sleep(thread_); }
  void leave() { bell_.ignore(ticket_); }

 private:
  SqliteBell& bell_;
  Token ticket_ = new_token();
  std::atomic<pid_t> thread_ = 0;
  std::atomic<int> heard_ = 0;
  std::shared_ptr<void> listening_;  // Last, so that it ends first.
};

inline std::string text_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline int entries_of(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// Another process that rings until it is killed.
class Ringer {
 public:
  explicit Ringer(const std::string& database) : id_(fork()) {
    if (id_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    SqliteBell bell(database);
    while (true) bell.ring("jobs", {"waiter"});
  }
  ~Ringer() { end(); }
  Ringer(const Ringer&) = delete;
  Ringer& operator=(const Ringer&) = delete;

  void end() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(std::exchange(id_, 0), nullptr, 0);
  }

 private:
  pid_t id_;
};

}  // namespace distlock::testing
