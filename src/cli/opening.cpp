#include "cli/opening.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ostream>
#include <system_error>
#include <vector>

#include "failure.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPauseLeast{100};
constexpr milliseconds kPauseMost{1000};
constexpr milliseconds kCallLeast{250};
// A run on one SQLite file opens more of them from here on.
constexpr std::size_t kFilesLeast = 12;

SteadyTime end_of(const OpeningWait& wait) {
  constexpr std::chrono::hours kForEver{24 * 365 * 100};
  const milliseconds most = std::min<milliseconds>(wait.most.value_or(kForEver), kForEver);
  return wait.clock.steady_now() + most;
}

// Without a wait, or when its time is over, there is a single call, which gets its whole limit.
milliseconds limit_of_call(const OpeningWait& wait, SteadyTime end) {
  if (wait.most && wait.most->count() <= 0) return wait.call_limit;
  const auto left = std::chrono::ceil<milliseconds>(end - wait.clock.steady_now());
  return std::min(wait.call_limit, std::max(left, kCallLeast));
}

std::shared_ptr<Store> open_within(const Open& open, const OpeningWait& wait, SteadyTime end) {
  const milliseconds limit = limit_of_call(wait, end);
  auto store = open({.call_limit = limit});
  if (limit == wait.call_limit) return store;
  store.reset();
  return open({.call_limit = wait.call_limit});
}

}  // namespace

// A store that cannot be opened for want of files is not away: waiting mends nothing.
void check_room_for_files() {
  std::vector<int> files;
  int last = 0;
  while (last >= 0 && files.size() < kFilesLeast) {
    last = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    if (last >= 0) files.push_back(last);
  }
  const int error = last < 0 ? errno : 0;
  for (const int file : files) close(file);
  if (error == EMFILE) {
    throw std::system_error(error, std::generic_category(),
                            "no store can be opened; raise the limit of open files (ulimit -n)");
  }
}

StoreOptions calls_of(const RunArguments& arguments) {
  constexpr milliseconds kLeast{250};  // A disk may need so long, whatever the interval is.
  const milliseconds fitting = StoreOptions::fitting(arguments.window.takeover_after).call_limit;
  return {.call_limit = std::min(fitting, std::max(arguments.ping_every / 2, kLeast))};
}

std::shared_ptr<Store> open_patiently(const Open& open, const OpeningWait& wait,
                                      std::ostream& err) {
  const SteadyTime end = end_of(wait);
  for (milliseconds pause = kPauseLeast;; pause = std::min(2 * pause, kPauseMost)) {
    if (wait.stop.stop_requested()) return nullptr;
    check_room_for_files();
    try {
      return open_within(open, wait, end);
    } catch (const Error& error) {
      const SteadyTime now = wait.clock.steady_now();
      if (!may_pass(error) || now >= end) throw;
      if (pause == kPauseLeast) {
        err << "distlock: " << error.what() << "; waiting for the store\n" << std::flush;
      }
    }
    if (!wait.clock.wait_until(std::min(wait.clock.steady_now() + pause, end), wait.stop)) {
      return nullptr;
    }
  }
}

}  // namespace distlock::cli
