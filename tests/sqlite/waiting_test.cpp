// Processes that wait for one lock of a SQLite file: woken by the bell alone, for they look by
// themselves once an hour.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "distlock/clock.h"
#include "distlock/distributed_lock.h"
#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_bell.h"
#include "support/crossed_locks.h"
#include "support/once_of_six.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A lock that this process holds, and processes that wait for it. Each that gets it says so, and
/// gives it up at once.
class Queue {
 public:
  Queue() : store_(open_at(path_)), holder_(held(*store_, "jobs")) {
    store_->ping("holder");
    REQUIRE(pipe(told_.data()) == 0);
  }
  ~Queue() {
    for (const pid_t id : ids_) kill(id, SIGKILL);
    for (const pid_t id : ids_) waitpid(id, nullptr, 0);
    close(told_[0]);
    close(told_[1]);
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// A process more, which stands in line when this returns.
  void add() {
    const auto number = static_cast<char>(ids_.size());
    const pid_t id = fork();
    if (id == 0) wait_in_line(number);
    ids_.push_back(id);
    const auto clock = host_clock();
    const auto limit = clock->steady_now() + 60s;
    while (in_line() < ids_.size()) {
      REQUIRE(clock->steady_now() < limit);
      clock->wait_until(clock->steady_now() + 1ms, {});
    }
  }

  void release() {
    const Freed freed = store_->line()->release_and_tell("jobs", *holder_.ts, ReleaseRule::durable);
    REQUIRE(freed.result == ReleaseResult::freed);
    store_->line()->ring("jobs", freed.next);
  }

  /// The numbers of the next so many that get the lock.
  std::vector<int> next(int count) {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) {
      char number = -1;
      CHECK(read(told_[0], &number, 1) == 1);
      numbers.push_back(number);
    }
    return numbers;
  }

  std::size_t in_line() const {
    return store_->inspect("jobs", Freshness::fresh).lock->line.size();
  }
  pid_t id(std::size_t number) const { return ids_.at(number); }

 private:
  // Nothing may get out of here: this process would go on with the other tests.
  [[noreturn]] void wait_in_line(char number) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // A wait that ends by itself says so too.
    alarm(120);
    try {
      const auto pinger =
          std::make_shared<DistributedLockPinger>(Environment{.store = open_at(path_)});
      DistributedLock lock(pinger, "jobs", {.recheck = 1h});
      lock.lock();
      if (write(told_[1], &number, 1) != 1) _exit(2);
      lock.unlock();
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "locks.db";
  std::shared_ptr<Store> store_;
  LockRecord holder_;
  std::array<int, 2> told_{};
  std::vector<pid_t> ids_;
};

using Numbers = std::vector<int>;

}  // namespace

TEST_CASE("a ring that comes while its listener is told of another one is heard",
          "[sqlite][bell][R19]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path);
  SqliteBell bell(path.string(), 1h);
  std::atomic<int> heard = 0;
  const auto listening = bell.listen("waiter", [&](std::string_view name) {
    if (++heard == 1) bell.ring(name, {"waiter"});
  });
  bell.attend("waiter", new_token(), "jobs");
  bell.ring("jobs", {"waiter"});
  CHECK(comes([&] { return heard == 2; }));
}

// As docs/guarantees.md says how to wait on.
TEST_CASE("a wait that ends with its file goes on in the new one when it is opened anew",
          "[sqlite][waiting][R15]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  held(*open_at(path), "jobs");
  bool replaced = false;
  const auto replace = [&](const WaitReport&) {
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path.string() + end);
    held(*open_at(path), "another");
    replaced = true;
  };
  int waits = 0;
  const auto fence_in_the_file_that_is_there = [&] {
    while (true) {
      REQUIRE(++waits <= 2);
      try {
        const auto pinger =
            std::make_shared<DistributedLockPinger>(Environment{.store = open_at(path)});
        DistributedLock lock(pinger, "jobs", {.recheck = 100ms});
        lock.on_waiting(replace);
        lock.lock();
        return lock.fence();
      } catch (const Error& error) {
        REQUIRE(error.errc() == Errc::store_replaced);
      }
    }
  };
  CHECK(fence_in_the_file_that_is_there() == 1);
  CHECK(replaced);
  CHECK(waits == 2);
}

TEST_CASE("processes that wait for a lock of a file get it in the order in which they came",
          "[sqlite][line][R17][R19]") {
  const Numbers came{0, 1, 2, 3, 4, 5};
  const auto order = [] {
    Queue queue;
    for (int i = 0; i < 6; ++i) queue.add();
    queue.release();
    Numbers numbers = queue.next(6);
    CHECK(queue.in_line() == 0);
    return numbers;
  };
  CHECK(once_of_six(came, order) == came);
}

TEST_CASE("waiters that were killed are passed over, together and once",
          "[sqlite][line][R17][R19]") {
  const Numbers alive{1, 2, 3};
  const auto order = [] {
    Queue queue;
    for (int i = 0; i < 4; ++i) queue.add();
    kill(queue.id(0), SIGKILL);
    queue.release();
    Numbers numbers = queue.next(3);
    CHECK(queue.in_line() == 1);
    return numbers;
  };
  CHECK(once_of_six(alive, order) == alive);
}

TEST_CASE("a waiter that is paused at its turn is passed over, and first when it goes on",
          "[sqlite][line][R17][R19]") {
  const Numbers awake_first{1, 2, 0};
  const auto order = [] {
    Queue queue;
    for (int i = 0; i < 3; ++i) queue.add();
    kill(queue.id(0), SIGSTOP);
    queue.release();
    Numbers numbers = queue.next(2);
    CHECK(queue.in_line() == 1);
    kill(queue.id(0), SIGCONT);
    numbers.push_back(queue.next(1).front());
    return numbers;
  };
  CHECK(once_of_six(awake_first, order) == awake_first);
}

TEST_CASE("two who wait for each other on a file hear of their deadlock",
          "[sqlite][R22][threads]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const std::string message = message_of_a_deadlock([&] { return open_at(file); });
  CHECK_THAT(message,
             Catch::StartsWith("deadlock: ") && Catch::Contains("one") && Catch::Contains("two"));
}

TEST_CASE("a ring is good for one request, and the next one writes nothing again",
          "[sqlite][line][R19][R20]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path);
  held(*store, "jobs");
  std::atomic<bool> heard = false;
  const auto listening = store->line()->listen("a", [&](std::string_view) { heard = true; });
  const Claim claim = claim_by(*store, "a");
  REQUIRE(store->line()->stand("jobs", claim).in_line);
  store->line()->ring("jobs", {"a"});
  REQUIRE(comes([&] { return heard.load(); }));
  CHECK(store->line()->stand("jobs", claim).in_line);
  SqliteFile file(path.string());
  file.execute("BEGIN IMMEDIATE");
  CHECK(store->line()->stand("jobs", claim).in_line);
  file.execute("COMMIT");
}

TEST_CASE("with nobody in line a claim and a release are one sync each", "[sqlite][line][R20]") {
  const TemporaryFolder folder;
  const auto store = open_at(folder.path() / "locks.db");
  LockRecord lock = held(*store, "jobs");
  store->release("jobs", *lock.ts);
  int begun = syncs();
  lock = claimed(*store, "jobs", FromFree{lock.ts}, claim_by(*store, "holder"));
  CHECK(syncs() - begun == 1);
  begun = syncs();
  CHECK(store->line()->release_and_tell("jobs", *lock.ts, ReleaseRule::durable).result ==
        ReleaseResult::freed);
  CHECK(syncs() - begun == 1);
  begun = syncs();
  CHECK(store->line()->stand("jobs", claim_by(*store, "holder")).hold);
  CHECK(syncs() - begun == 1);
}

TEST_CASE("a request for a place at its cutoff is in time", "[sqlite][line][R8]") {
  const TemporaryFolder folder;
  const auto store = open_at((folder.path() / "locks.db").string() + "?synchronous=off");
  held(*store, "jobs");
  const auto now = [&] { return store->inspect("jobs", Freshness::fresh).now->time; };
  bool within_one_ms = false;
  for (int attempt = 0; !within_one_ms && attempt < 10'000; ++attempt) {
    Claim claim = claim_by(*store, "ann");
    claim.cutoff.time = now();
    const bool in_line = store->line()->stand("jobs", claim).in_line;
    within_one_ms = now() == claim.cutoff.time;
    if (within_one_ms) CHECK(in_line);
    store->line()->leave("jobs", claim.ts);
  }
  CHECK(within_one_ms);
}
