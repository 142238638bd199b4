#include <sys/wait.h>
#include <unistd.h>

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <stop_token>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "process/tool_process.h"
#include "support/leave.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// What a forked child answers: 0 if all is well. A child that hangs is ended by its alarm.
int answer_of_child(const std::function<int()>& question) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    leave(question());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool says_forked(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.errc() == Errc::forked;
  }
  return false;
}

/// A process that holds "jobs" in a SQLite file.
struct Parent {
  TemporaryFolder folder;
  std::string uri = "sqlite:" + (folder.path() / "locks.db").string();
  std::shared_ptr<Store> store = open_store(ConnectionString{uri}, {.call_limit = 100ms});
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store}, PingerOptions{.ping_every = 20ms});
  std::unique_ptr<DistributedLock> lock =
      std::make_unique<DistributedLock>(pinger, "jobs", LockOptions{.takeover_after = 5s});
};

}  // namespace

TEST_CASE("in a forked child every handle is inert", "[process][R16]") {
  Parent parent;
  REQUIRE(parent.lock->lock_try("x"));
  auto idle = std::make_unique<DistributedLockPinger>(Environment{.store = parent.store},
                                                      PingerOptions{}, PingerDrive::caller);
  const int answer = answer_of_child([&] {
    if (parent.lock->held()) return 1;
    if (parent.lock->valid_until() != SteadyTime::min()) return 11;
    if (parent.lock->unlock() != UnlockResult::not_ours) return 2;
    if (!says_forked([&] { (void)parent.lock->lock_try("y"); })) return 3;
    if (!says_forked([&] { parent.lock->lock(); })) return 10;
    if (!says_forked([&] { parent.lock->check(); })) return 4;
    if (!says_forked([&] { (void)parent.lock->still_held(); })) return 5;
    if (!says_forked([&] { (void)parent.lock->record(); })) return 6;
    if (!says_forked([&] { (void)parent.store->list(); })) return 7;
    if (!says_forked([&] { DistributedLock(parent.pinger, "another"); })) return 8;
    if (parent.pinger->ping_round() != SteadyTime::max()) return 9;
    if (parent.pinger->watch_round() != SteadyTime::max()) return 12;
    parent.pinger->stop();
    parent.lock.reset();
    parent.pinger.reset();
    idle.reset();
    parent.store.reset();
    return 0;
  });
  CHECK(answer == 0);
  CHECK(parent.lock->still_held());
  CHECK(parent.store->list().pings.size() == 1);
  CHECK(parent.lock->unlock() == UnlockResult::released);
}

TEST_CASE("a forked child has its own pinger for the same connection string", "[process][R16]") {
  TemporaryFolder folder;
  const ConnectionString config{"sqlite:" + (folder.path() / "locks.db").string()};
  DistributedLock lock(config, "jobs");
  REQUIRE(lock.lock_try("x"));
  const std::string process = DistributedLockPinger::got(config)->process();
  const int answer = answer_of_child([&] {
    if (DistributedLockPinger::got(config)->process() == process) return 1;
    LockRecord other;
    if (DistributedLock(config, "jobs").lock_try("y", &other)) return 2;
    if (other.process != process) return 3;
    return DistributedLock(config, "another").lock_try("z") ? 0 : 4;
  });
  CHECK(answer == 0);
  CHECK(lock.still_held());
}

TEST_CASE("a fork in the middle of other threads' calls blocks no child", "[process][R16]") {
  Parent parent;
  boost::thread_group busy;
  std::stop_source stop;
  for (int i = 0; i < 2; ++i) {
    busy.create_thread([&, i] {
      DistributedLock lock(parent.pinger, "busy" + std::to_string(i), {.takeover_after = 5s});
      while (!stop.stop_requested()) {
        try {
          if (lock.lock_try("x")) lock.unlock();
        } catch (const Error&) {
          // A loaded machine may keep the file busy for longer than the short time limit.
        }
      }
    });
  }
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    wrong += answer_of_child([&] {
      if (parent.lock->held()) return 1;
      const bool inert = says_forked([&] { (void)parent.lock->lock_try("y"); });
      parent.lock.reset();
      parent.pinger.reset();
      return inert ? 0 : 2;
    });
  }
  stop.request_stop();
  busy.join_all();
  CHECK(wrong == 0);
}
