#include "sqlite/system_hooks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <cerrno>
#include <cstdarg>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

namespace distlock::testing {
namespace {

struct Hook {
  int clock = -1;
  AtClockReading::When when = AtClockReading::When::before;
  std::function<void()> act;
};

std::atomic<int> syncs_so_far = 0;
std::atomic<int> folder_syncs_so_far = 0;
std::atomic<int> syncs_to_fail = 0;
thread_local std::set<int> to_be_told;
thread_local Hook hook;
thread_local std::function<void(int)> after_sync;
thread_local std::function<void()> after_naming;
thread_local std::function<void()> before_removal;
thread_local std::function<void()> before_locking;
thread_local bool no_such_rename = false;
thread_local std::chrono::milliseconds boot_time_ahead{};

// Where syncs wait while they are held.
struct Held {
  boost::mutex mutex;
  boost::condition_variable changed;
  bool holds = false;
  int begun = 0;
  int let = 0;
} held_syncs;

void wait_while_held() {
  boost::unique_lock<boost::mutex> lock(held_syncs.mutex);
  if (!held_syncs.holds) return;
  const int own = ++held_syncs.begun;
  held_syncs.changed.wait(lock, [&] { return !held_syncs.holds || held_syncs.let >= own; });
}

bool is_folder(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

int sync_by(long number, int file) {
  wait_while_held();
  ++syncs_so_far;
  if (is_folder(file)) ++folder_syncs_so_far;
  const bool told = to_be_told.erase(file) != 0;
  if (syncs_to_fail > 0 || told) {
    if (!told) --syncs_to_fail;
    errno = EIO;
    return -1;
  }
  const auto result = static_cast<int>(syscall(number, file));
  if (result != 0 || !after_sync) return result;
  const auto own = std::exchange(after_sync, {});
  own(file);
  after_sync = own;
  return result;
}

int named_by(long result) {
  if (const auto act = result == 0 ? std::exchange(after_naming, {}) : nullptr) act();
  return static_cast<int>(result);
}

int remove_by_name(const char* path) {
  if (const auto act = std::exchange(before_removal, {})) act();
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int fcntl_by(int file, int operation, void* argument) {
  if (operation == F_OFD_SETLK && static_cast<struct flock*>(argument)->l_type == F_WRLCK) {
    if (const auto act = std::exchange(before_locking, {})) act();
  }
  return static_cast<int>(syscall(SYS_fcntl, file, operation, argument));
}

int rename_by(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (no_such_rename) {
    errno = EINVAL;
    return -1;
  }
  return named_by(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

void set_ahead(timespec& time) {
  const auto ahead = std::chrono::nanoseconds{boot_time_ahead}.count() + time.tv_nsec;
  time.tv_sec += ahead / 1'000'000'000;
  time.tv_nsec = ahead % 1'000'000'000;
}

void happen(int clock, AtClockReading::When when) {
  if (hook.clock != clock || hook.when != when) return;
  const int own = std::exchange(hook.clock, -1);
  hook.act();
  hook.clock = own;
}

}  // namespace

int syncs() { return syncs_so_far; }
int folder_syncs() { return folder_syncs_so_far; }

AtSync::AtSync(std::function<void(int)> act) { after_sync = std::move(act); }
AtSync::~AtSync() { after_sync = {}; }

AtNaming::AtNaming(std::function<void()> act) { after_naming = std::move(act); }
AtNaming::~AtNaming() { after_naming = {}; }

BeforeRemoval::BeforeRemoval(std::function<void()> act) { before_removal = std::move(act); }
BeforeRemoval::~BeforeRemoval() { before_removal = {}; }

BeforeLocking::BeforeLocking(std::function<void()> act) { before_locking = std::move(act); }
BeforeLocking::~BeforeLocking() { before_locking = {}; }

NoSuchRename::NoSuchRename() { no_such_rename = true; }
NoSuchRename::~NoSuchRename() { no_such_rename = false; }

FailingSyncs::FailingSyncs(int number) { syncs_to_fail = number; }
FailingSyncs::~FailingSyncs() { syncs_to_fail = 0; }

FailedElsewhere::FailedElsewhere() {
  for (const auto& open : std::filesystem::directory_iterator("/proc/self/fd")) {
    to_be_told.insert(std::stoi(open.path().filename()));
  }
  std::erase_if(to_be_told, [](int listing) { return fcntl(listing, F_GETFD) < 0; });
}
FailedElsewhere::~FailedElsewhere() { to_be_told.clear(); }

HeldSyncs::HeldSyncs() {
  const boost::lock_guard<boost::mutex> lock(held_syncs.mutex);
  held_syncs.holds = true;
  held_syncs.begun = held_syncs.let = 0;
}
void HeldSyncs::let_all_go() {
  const boost::lock_guard<boost::mutex> lock(held_syncs.mutex);
  held_syncs.holds = false;
  held_syncs.changed.notify_all();
}
int HeldSyncs::begun() const {
  const boost::lock_guard<boost::mutex> lock(held_syncs.mutex);
  return held_syncs.begun;
}
void HeldSyncs::let_one_go() const {
  const boost::lock_guard<boost::mutex> lock(held_syncs.mutex);
  ++held_syncs.let;
  held_syncs.changed.notify_all();
}

BootTimeAhead::~BootTimeAhead() { boot_time_ahead = {}; }
void BootTimeAhead::add(std::chrono::milliseconds time) const { boot_time_ahead += time; }
std::chrono::milliseconds BootTimeAhead::all() const { return boot_time_ahead; }

AtClockReading::AtClockReading(int clock, When when, std::function<void()> act) {
  hook = {clock, when, std::move(act)};
}
AtClockReading::~AtClockReading() { hook = {}; }

}  // namespace distlock::testing

// Ahead of libc's, since they are the program's own.
extern "C" int fsync(int file) { return distlock::testing::sync_by(SYS_fsync, file); }
extern "C" int fdatasync(int file) { return distlock::testing::sync_by(SYS_fdatasync, file); }
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  return distlock::testing::rename_by(from_folder, from, to_folder, to, flags);
}
extern "C" int link(const char* from, const char* to) noexcept {
  return distlock::testing::named_by(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
extern "C" int rename(const char* from, const char* to) noexcept {
  return distlock::testing::named_by(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
extern "C" int unlink(const char* path) noexcept { return distlock::testing::remove_by_name(path); }
extern "C" int fcntl(int file, int operation, ...) {
  va_list rest;
  va_start(rest, operation);
  void* const argument = va_arg(rest, void*);  // A number or a pointer, or nothing to be read.
  va_end(rest);
  return distlock::testing::fcntl_by(file, operation, argument);
}
extern "C" int mknod(const char* path, mode_t mode, dev_t device) noexcept {
  return distlock::testing::named_by(syscall(SYS_mknodat, AT_FDCWD, path, mode, device));
}
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using distlock::testing::AtClockReading;
  distlock::testing::happen(clock, AtClockReading::When::before);
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_BOOTTIME) distlock::testing::set_ahead(*time);
  distlock::testing::happen(clock, AtClockReading::When::after);
  return static_cast<int>(result);
}
