// Threads of two processes that pass holds of one lock of a SQLite file on (R21).
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <new>

#include "sqlite/file_under_fault.h"
#include "support/hot_lock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr int kProcesses = 2;
constexpr int kThreads = 3;
constexpr int kRounds = 100;

class SharedHotLock {
 public:
  SharedHotLock()
      : hot_(new (mmap(nullptr, sizeof(HotLock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)) HotLock) {}
  ~SharedHotLock() { munmap(hot_, sizeof(HotLock)); }
  SharedHotLock(const SharedHotLock&) = delete;
  SharedHotLock& operator=(const SharedHotLock&) = delete;
  HotLock* operator->() const { return hot_; }
  HotLock& operator*() const { return *hot_; }

 private:
  HotLock* hot_;
};

// Nothing may get out of here: this process would go on with the other tests.
[[noreturn]] void hurry_as_a_process(HotLock& hot, const std::string& path) {
  alarm(240);
  try {
    const auto pinger =
        std::make_shared<DistributedLockPinger>(Environment{.store = open_at(path)});
    hurry(hot, pinger, "jobs", kThreads, kRounds);
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}

}  // namespace

TEST_CASE("threads of two processes that pass a hold on never hold it together",
          "[sqlite][waiting][R10][R21][unsanitized]") {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "locks.db";
  const SharedHotLock hot;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) hurry_as_a_process(*hot, path);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK(hot->grants == kProcesses * kThreads * kRounds);
  CHECK(hot->together == 0);
  CHECK(hot->backwards == 0);
  CHECK(hot->passes > 0);
  const LockRecord left = *open_at(path)->inspect("jobs", Freshness::fresh).lock;
  CHECK_FALSE(left.taken());
  CHECK(left.line.empty());
  CHECK(left.fence >= hot->last_fence);
}
