#include "cli/leaving.h"

#include <unistd.h>

#include <chrono>
#include <future>
#include <iostream>
#include <system_error>
#include <thread>
#include <utility>

#include "distlock/log.h"

#ifdef DISTLOCK_COVERAGE
extern "C" void __gcov_dump();
#endif

namespace distlock::cli {
namespace {

// The most that the request which ends the sessions may take to be sent. Its answer is not awaited.
constexpr std::chrono::milliseconds kGoodbye{20};
// The longest wait for readers of the library's log.
constexpr std::chrono::milliseconds kLogMost{1000};

std::shared_ptr<Store>& kept() {
  static std::shared_ptr<Store> store;
  return store;
}

// On a thread that may outlast the wait: the process ends with it.
void part_with(std::shared_ptr<Store> store, std::chrono::milliseconds most) try {
  std::promise<void> gone;
  const auto ended = gone.get_future();
  std::thread([store = std::move(store), gone = std::move(gone)]() mutable {
    store.reset();
    gone.set_value();
  }).detach();
  ended.wait_for(most);
} catch (const std::system_error&) {
  // No thread is left: the server ends the sessions after half an hour.
}

}  // namespace

void keep_until_left(std::shared_ptr<Store> store) {
  auto earlier = std::exchange(kept(), std::move(store));
  if (earlier) part_with(std::move(earlier), {});
}

int leave(int status) {
  if (!kept()) return status;
  part_with(std::move(kept()), kGoodbye);
  (void)flush_log(kLogMost);
  std::cout.flush();
  std::cerr.flush();
#ifdef DISTLOCK_COVERAGE
  __gcov_dump();  // _exit() would lose what tools/coverage counts.
#endif
  _exit(status);
}

}  // namespace distlock::cli
