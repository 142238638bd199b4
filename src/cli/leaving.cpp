#include "cli/leaving.h"

#include <unistd.h>

#include <chrono>
#include <future>
#include <iostream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

using Stores = std::vector<std::shared_ptr<Store>>;

Stores& kept() {
  static Stores stores;
  return stores;
}

// On a thread that may outlast the wait: the process ends with it.
void part_with(Stores stores) try {
  std::promise<void> gone;
  const auto ended = gone.get_future();
  std::thread([stores = std::move(stores), gone = std::move(gone)]() mutable {
    stores.clear();
    gone.set_value();
  }).detach();
  ended.wait_for(kGoodbye);
} catch (const std::system_error&) {
  // No thread is left: the server ends the sessions after half an hour.
}

}  // namespace

void keep_until_left(std::shared_ptr<Store> store) { kept().push_back(std::move(store)); }

int leave(int status) {
  if (kept().empty()) return status;
  part_with(std::move(kept()));
  (void)flush_log(kLogMost);
  std::cout.flush();
  std::cerr.flush();
#ifdef DISTLOCK_COVERAGE
  __gcov_dump();  // _exit() would lose what tools/coverage counts.
#endif
  _exit(status);
}

}  // namespace distlock::cli
