#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "distlock/distributed_lock.h"
#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_witness.h"

// Holders of a SQLite file and their contenders, in processes of their own.
namespace distlock::testing {

/// A pipe of single bytes.
class Told {
 public:
  Told() { REQUIRE(pipe2(ends_.data(), O_CLOEXEC) == 0); }
  ~Told() {
    for (const int end : ends_) close(end);
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;

  void tell(char what) const {
    if (write(ends_[1], &what, 1) != 1) _exit(3);
  }
  int writing_end() const { return ends_[1]; }
  char next() const {
    constexpr int kPatience = 60'000;
    char what = 0;
    pollfd waited{.fd = ends_[0], .events = POLLIN, .revents = 0};
    CHECK(poll(&waited, 1, kPatience) == 1);
    if (waited.revents != 0) CHECK(read(ends_[0], &what, 1) == 1);
    return what;
  }

 private:
  std::array<int, 2> ends_{};
};

inline void never() {}

/// A process of its own that is killed at the end.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : id_(fork()) {
    if (id_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(120);
    // Nothing may get out of here: this process would go on with the other tests.
    try {
      work();
    } catch (...) {
      _exit(1);
    }
    _exit(0);
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Kills it and waits for its end.
  void end() {
    if (ended_) return;
    ended_ = true;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  void send(int signal) const { kill(id_, signal); }
  void await_stop() const {
    int status = 0;
    waitpid(id_, &status, WUNTRACED);
    REQUIRE(WIFSTOPPED(status));
  }

 private:
  pid_t id_;
  bool ended_ = false;
};

/// The child of a holder, which outlives it.
class Orphan {
 public:
  /// In the holder: makes one that does `work`.
  static void make(const Told& told, const std::function<void()>& work) {
    const pid_t id = fork();
    if (id == 0) {
      alarm(120);
      work();
      _exit(0);
    }
    const auto* bytes = reinterpret_cast<const char*>(&id);
    for (std::size_t i = 0; i < sizeof id; ++i) told.tell(bytes[i]);
  }
  /// In the test: a child subreaper by now.
  explicit Orphan(const Told& told) {
    auto* bytes = reinterpret_cast<char*>(&id_);
    for (std::size_t i = 0; i < sizeof id_; ++i) bytes[i] = told.next();
  }
  ~Orphan() { end(); }
  Orphan(const Orphan&) = delete;
  Orphan& operator=(const Orphan&) = delete;

  void end() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = -1;
  }

 private:
  pid_t id_ = -1;
};

/// A file, with holders and contenders in processes of their own. All windows are the default, 16
/// minutes.
class Scene {
 public:
  Scene() { prctl(PR_SET_CHILD_SUBREAPER, 1); }
  explicit Scene(std::filesystem::path place) : Scene() { place_ = std::move(place); }

  /// Holds "jobs" when this returns, and did `then` after that.
  std::unique_ptr<Child> holder(const StoreOptions& options = {},
                                const std::function<void()>& then = never) const {
    auto child = std::make_unique<Child>([&] {
      const auto pinger = pinger_of(options);
      DistributedLock lock(pinger, "jobs");
      if (!lock.lock_try("x")) _exit(2);
      then();
      told.tell('h');
      while (true) pause();
    });
    REQUIRE(told.next() == 'h');
    return child;
  }

  /// Waits for "jobs", and says `number` when it has it. Looks by itself once an hour. Has looked
  /// at the holder when this returns.
  std::unique_ptr<Child> waiter(char number) const {
    auto child = std::make_unique<Child>([&] {
      const auto pinger = pinger_of({});
      DistributedLock lock(
          pinger, "jobs",
          {.recheck = std::chrono::hours{1}, .deadlock_after = std::chrono::milliseconds{0}});
      bool told_once = false;
      lock.on_waiting([&](const WaitReport&) {
        if (!std::exchange(told_once, true)) told.tell('w');
      });
      lock.lock();
      told.tell(number);
      while (true) pause();
    });
    REQUIRE(told.next() == 'w');
    return child;
  }

  /// The fence of a contender that tries once, or 0.
  Fence tried(const StoreOptions& options = {}) const {
    const auto pinger = pinger_of(options);
    DistributedLock lock(pinger, "jobs");
    return lock.lock_try("x") ? lock.fence() : 0;
  }

  std::filesystem::path witness() const { return path().string() + "-witness"; }
  std::filesystem::path path() const {
    return (place_.empty() ? folder.path() : place_) / "locks.db";
  }

  TemporaryFolder folder;
  Told told;

 private:
  std::shared_ptr<DistributedLockPinger> pinger_of(const StoreOptions& options) const {
    return std::make_shared<DistributedLockPinger>(Environment{.store = open_at(path(), options)});
  }

  std::filesystem::path place_;
};

/// Makes no database, only room for one.
struct Room {
  Room() { std::ofstream(database).close(); }

  SqliteWitness witness(WitnessRule rule = WitnessRule::children) const {
    return {database, boot_clock().boot, rule};
  }

  TemporaryFolder folder;
  std::string database = (folder.path() / "locks.db").string();
  std::filesystem::path file = database + "-witness";
};

}  // namespace distlock::testing
