#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/log/core.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/log/trivial.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <stop_token>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "process/tool_process.h"
#include "support/busy_threads.h"
#include "support/forked_child.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr unsigned kSeconds = 120;  // until a child that hangs is ended

/// While it lives, every record goes to a sink that others cannot use meanwhile.
class BusySink {
 public:
  BusySink() {
    boost::log::core::get()->add_sink(sink_);
    set_log_level(LogLevel::debug);
  }
  ~BusySink() {
    set_log_level(LogLevel::off);
    (void)flush_log(1min);
    boost::log::core::get()->remove_sink(sink_);
  }
  BusySink(const BusySink&) = delete;
  BusySink& operator=(const BusySink&) = delete;

 private:
  struct Backend : boost::log::sinks::basic_sink_backend<boost::log::sinks::synchronized_feeding> {
    void consume(const boost::log::record_view& /*record*/) {
      for (int i = 0; i < 2000; ++i) ++work;
    }
    std::atomic<int> work = 0;
  };
  boost::shared_ptr<boost::log::sinks::sink> sink_ =
      boost::make_shared<boost::log::sinks::synchronous_sink<Backend>>();
};

/// Claims and frees a lock of a store of its own.
bool can_lock() {
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = make_memory_store()}, PingerOptions{}, PingerDrive::caller);
  DistributedLock lock(pinger, "a lock of its own");
  return lock.lock_try("x") && lock.unlock() == UnlockResult::released;
}

/// The first status of a child that cannot do something, of forks while two threads do something
/// again and again; 0 if all can.
int status_without(
    const std::function<bool()>& ability, const std::function<void()>& busy,
    const std::function<void()>& before_each = [] {}) {
  BusyThreads threads;
  for (int i = 0; i < 2; ++i) threads.again(busy);
  int status = 0;
  for (int i = 0; i < 50 && status == 0; ++i) {
    before_each();
    status = answer_of_child([&] { return ability() ? 0 : 1; }, kSeconds);
  }
  return status;
}

/// A process that holds "jobs" in a SQLite file.
struct Parent {
  TemporaryFolder folder;
  std::string uri = "sqlite:" + (folder.path() / "locks.db").string();
  std::shared_ptr<Store> store = open_store(ConnectionString{uri}, {.call_limit = 5s});
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store}, PingerOptions{.ping_every = 20ms});
  std::unique_ptr<DistributedLock> lock =
      std::make_unique<DistributedLock>(pinger, "jobs", LockOptions{.takeover_after = 1min});
};

}  // namespace

TEST_CASE("in a forked child every handle is inert", "[process][R16][forks]") {
  Parent parent;
  REQUIRE(parent.lock->lock_try("x"));
  const auto memory = open_store(ConnectionString("memory:"));
  auto idle = std::make_unique<DistributedLockPinger>(Environment{.store = parent.store},
                                                      PingerOptions{}, PingerDrive::caller);
  const int answer = answer_of_child(
      [&] {
        if (parent.lock->held()) return 1;
        if (parent.lock->valid_until() != SteadyTime::min()) return 11;
        if (parent.lock->unlock() != UnlockResult::not_ours) return 2;
        if (!says_forked([&] { (void)parent.lock->lock_try("y"); })) return 3;
        if (!says_forked([&] { parent.lock->lock(); })) return 10;
        if (!says_forked([&] { parent.lock->check(); })) return 4;
        if (!says_forked([&] { (void)parent.lock->still_held(); })) return 5;
        if (!says_forked([&] { (void)parent.lock->record(); })) return 6;
        if (!says_forked([&] { (void)parent.store->list(); })) return 7;
        if (!says_forked([&] { (void)parent.store->line(); })) return 13;
        if (!says_forked([&] { (void)parent.store->members(); })) return 14;
        if (!says_forked([&] { (void)parent.store->share_witness("p"); })) return 15;
        if (!says_forked([&] { (void)memory->list(); })) return 16;
        if (!open_store(ConnectionString("memory:"))->list().locks.empty()) return 17;
        if (!says_forked([&] { DistributedLock(parent.pinger, "another"); })) return 8;
        if (parent.pinger->ping_round() != SteadyTime::max()) return 9;
        if (parent.pinger->watch_round() != SteadyTime::max()) return 12;
        parent.pinger->stop();
        parent.lock.reset();
        parent.pinger.reset();
        idle.reset();
        parent.store.reset();
        return 0;
      },
      kSeconds);
  CHECK(answer == 0);
  CHECK(parent.lock->still_held());
  CHECK(parent.store->list().pings.size() == 1);
  CHECK(parent.lock->unlock() == UnlockResult::released);
}

TEST_CASE("a forked child has its own pinger for the same connection string",
          "[process][R16][forks]") {
  TemporaryFolder folder;
  const ConnectionString config{"sqlite:" + (folder.path() / "locks.db").string()};
  DistributedLock lock(config, "jobs");
  REQUIRE(lock.lock_try("x"));
  const std::string process = DistributedLockPinger::got(config)->process();
  const int answer = answer_of_child(
      [&] {
        if (DistributedLockPinger::got(config)->process() == process) return 1;
        LockRecord other;
        if (DistributedLock(config, "jobs").lock_try("y", &other)) return 2;
        if (other.process != process) return 3;
        return DistributedLock(config, "another").lock_try("z") ? 0 : 4;
      },
      kSeconds);
  CHECK(answer == 0);
  CHECK(lock.still_held());
}

TEST_CASE("a fork in the middle of other threads' calls blocks no child", "[process][R16][forks]") {
  Parent parent;
  boost::thread_group busy;
  std::stop_source stop;
  for (int i = 0; i < 2; ++i) {
    busy.create_thread([&, i] {
      DistributedLock lock(parent.pinger, "busy" + std::to_string(i), {.takeover_after = 1min});
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
    wrong += answer_of_child(
        [&] {
          if (parent.lock->held()) return 1;
          const bool inert = says_forked([&] { (void)parent.lock->lock_try("y"); });
          parent.lock.reset();
          parent.pinger.reset();
          return inert ? 0 : 2;
        },
        kSeconds);
  }
  stop.request_stop();
  busy.join_all();
  CHECK(wrong == 0);
}

TEST_CASE("a child that waits for a lock of its parent is told so, whoever is at the lock there",
          "[process][R16][forks]") {
  Parent parent;
  const auto rule = GENERATE(WaitRule::polling, WaitRule::in_line);
  DistributedLock lock(parent.pinger, "busy", {.takeover_after = 1min, .wait_rule = rule});
  REQUIRE(lock.lock_try(std::string(200, 'x')));
  boost::thread_group busy;
  std::stop_source stop;
  for (int i = 0; i < 2; ++i) {
    busy.create_thread([&] {
      while (!stop.stop_requested()) (void)lock.record();
    });
  }
  int wrong = 0;
  for (int i = 0; i < 20; ++i) {
    wrong += answer_of_child(
        [&] {
          if (!says_forked([&] { (void)lock.try_lock_for(0s); })) return 1;
          if (!says_forked([&] { (void)lock.try_lock_for(1ms); })) return 2;
          return says_forked([&] { lock.lock(); }) ? 0 : 3;
        },
        kSeconds);
  }
  stop.request_stop();
  busy.join_all();
  CHECK(wrong == 0);
}

TEST_CASE("a child that is forked while other threads log can log", "[process][log][R16][forks]") {
  const BusySink sink;
  CHECK(status_without([] { return can_lock() && flush_log(1min); }, can_lock) == 0);
}

TEST_CASE("a child that is forked while others register what to do at exit can lock",
          "[process][log][R16][forks]") {
  const BusySink sink;
  std::atomic<int> left = 0;  // Since each takes memory.
  const auto registers = [&] {
    if (left > 0 && --left > 0) std::atexit([] {});
  };
  // With threads that the end of a program joins.
  const auto can_lock_in_memory = [] {
    return DistributedLock(ConnectionString{"memory:"}, "a lock").lock_try("x");
  };
  CHECK(status_without(can_lock_in_memory, registers, [&] { left = 20000; }) == 0);
}

TEST_CASE("a child that is forked while the program itself logs can lock",
          "[process][log][R16][forks]") {
  const BusySink sink;
  CHECK(status_without(can_lock, [] { BOOST_LOG_TRIVIAL(info) << "busy"; }) == 0);
}
