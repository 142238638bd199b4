#include "sqlite/system_hooks.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace distlock::testing {
namespace {

struct Hook {
  int clock = -1;
  AtClockReading::When when = AtClockReading::When::before;
  std::function<void()> act;
};

std::atomic<int> syncs_so_far = 0;
std::atomic<bool> syncs_fail = false;
thread_local Hook hook;
thread_local std::function<void()> after_sync;

int sync_by(long number, int file) {
  ++syncs_so_far;
  if (syncs_fail) {
    errno = EIO;
    return -1;
  }
  const auto result = static_cast<int>(syscall(number, file));
  if (result != 0 || !after_sync) return result;
  const auto own = std::exchange(after_sync, {});
  own();
  after_sync = own;
  return result;
}

void happen(int clock, AtClockReading::When when) {
  if (hook.clock != clock || hook.when != when) return;
  const int own = std::exchange(hook.clock, -1);
  hook.act();
  hook.clock = own;
}

}  // namespace

int syncs() { return syncs_so_far; }

AtSync::AtSync(std::function<void()> act) { after_sync = std::move(act); }
AtSync::~AtSync() { after_sync = {}; }

FailingSyncs::FailingSyncs() { syncs_fail = true; }
FailingSyncs::~FailingSyncs() { syncs_fail = false; }

AtClockReading::AtClockReading(int clock, When when, std::function<void()> act) {
  hook = {clock, when, std::move(act)};
}
AtClockReading::~AtClockReading() { hook = {}; }

}  // namespace distlock::testing

// Ahead of libc's, since they are the program's own.
extern "C" int fsync(int file) { return distlock::testing::sync_by(SYS_fsync, file); }
extern "C" int fdatasync(int file) { return distlock::testing::sync_by(SYS_fdatasync, file); }
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using distlock::testing::AtClockReading;
  distlock::testing::happen(clock, AtClockReading::When::before);
  const long result = syscall(SYS_clock_gettime, clock, time);
  distlock::testing::happen(clock, AtClockReading::When::after);
  return static_cast<int>(result);
}
