#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "process/tool_process.h"
#include "support/exit_status_in.h"
#include "support/leave.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr int kRefused = 99;

/// A process's view of CLOCK_BOOTTIME, ten hours on: what a suspend looks like from inside. By a
/// time namespace, which only a process with a single thread can enter.
class TimeNamespace {
 public:
  bool prepare() {
    if (unshare(CLONE_NEWTIME) != 0) return refused("unshare");
    std::ofstream offsets("/proc/self/timens_offsets");
    if (!(offsets << "boottime 36000 0" << std::flush)) return refused("timens_offsets");
    entrance_ = open("/proc/self/ns/time_for_children", O_RDONLY | O_CLOEXEC);
    return entrance_ >= 0 || refused("time_for_children");
  }
  void enter() const {
    if (setns(entrance_, CLONE_NEWTIME) != 0) throw std::runtime_error("setns");
  }

 private:
  static bool refused(const char* what) {
    std::cerr << "no time namespace here: " << what << ": " << strerror(errno) << '\n';
    return false;
  }

  int entrance_ = -1;
};

/// One thread, holder and contender, on one store.
struct Both {
  explicit Both(const std::shared_ptr<Store>& store)
      : holders(pinger(store)),
        contenders(pinger(store)),
        held(holders, "jobs"),
        other(contenders, "jobs") {}

  static std::shared_ptr<DistributedLockPinger> pinger(const std::shared_ptr<Store>& store) {
    return std::make_shared<DistributedLockPinger>(Environment{.store = store}, PingerOptions{},
                                                   PingerDrive::caller);
  }

  std::shared_ptr<DistributedLockPinger> holders;
  std::shared_ptr<DistributedLockPinger> contenders;
  DistributedLock held;
  DistributedLock other;
};

bool says_lost(const DistributedLock& lock) {
  try {
    lock.check();
  } catch (const Error& error) {
    return error.errc() == Errc::lock_lost;
  }
  return false;
}

/// 0 if all is well.
int live_through(TimeNamespace& suspend, const std::shared_ptr<Store>& store) {
  Both both(store);
  std::optional<LossReason> announced;
  both.held.on_lost([&](LossReason reason) { announced = reason; });
  if (!both.held.lock_try("x") || both.other.lock_try("y")) return 1;
  const SteadyTime deadline = both.held.valid_until();
  suspend.enter();
  if (host_clock()->steady_now() < deadline + 9h) return 2;
  if (both.held.held() || !says_lost(both.held)) return 3;
  if (!both.other.lock_try("y")) return 4;
  // Too late: a deadline that has passed is final.
  both.holders->ping_round();
  both.holders->watch_round();
  if (!announced || both.held.held()) return 5;
  both.held.unlock();
  return both.other.held() ? 0 : 6;
}

/// Both in a child, which has but one thread.
int answer_of_child(const std::function<int(TimeNamespace&)>& question) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    TimeNamespace suspend;
    leave(suspend.prepare() ? question(suspend) : kRefused);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return exit_status_in(status);
}

}  // namespace

TEST_CASE("a hold that slept through hours is past its deadline",
          "[process][suspend][unsanitized][R9]") {
  const TemporaryFolder folder;
  const bool in_memory = GENERATE(true, false);
  const std::string store =
      in_memory ? "memory:" : "sqlite:" + (folder.path() / "locks.db").string();
  const int answer = answer_of_child([&](TimeNamespace& suspend) {
    return live_through(suspend, open_store(ConnectionString{store}));
  });
  if (answer == kRefused) {
    std::cout << "SKIPPED: this machine makes no time namespaces (unshare -T)" << std::endl;
    return;
  }
  CHECK(answer == 0);
}
