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
constexpr milliseconds kOpeningLeast{1000};
// A run on one SQLite file opens more of them from here on.
constexpr std::size_t kFilesLeast = 15;

SteadyTime end_of(const OpeningWait& wait, std::optional<milliseconds> time) {
  constexpr std::chrono::hours kForEver{24 * 365 * 100};
  return wait.clock.steady_now() + std::min<milliseconds>(time.value_or(kForEver), kForEver);
}

// Without a wait nothing but the limits of its calls ends the only opening.
SteadyTime end_of_openings(const OpeningWait& wait, SteadyTime end) {
  if (wait.most && wait.most->count() <= 0) {
    if (wait.of_lock.value_or(milliseconds{0}).count() <= 0) return SteadyTime::max();
    end = end_of(wait, wait.of_lock);
  }
  return std::max(end, wait.clock.steady_now() + kOpeningLeast);
}

Error took_too_long(const OpeningWait& wait) {
  return {Errc::not_applied,
          "opening " + wait.store +
              ": it took longer than the wait or the patience; a longer one may show why"};
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
  const SteadyTime end = end_of(wait, wait.most);
  const OpeningEnd end_of_each{end_of_openings(wait, end), wait.stop};
  Error failure = took_too_long(wait);
  for (milliseconds pause = kPauseLeast;; pause = std::min(2 * pause, kPauseMost)) {
    if (wait.stop.stop_requested()) return nullptr;
    check_room_for_files();
    try {
      if (auto store = open_apart(open, wait.clock, end_of_each)) return store;
      if (wait.stop.stop_requested()) return nullptr;
    } catch (const Error& error) {
      failure = error;
      if (!may_pass(error)) throw;
    }
    if (wait.clock.steady_now() >= end) throw Error(failure);
    if (pause == kPauseLeast) {
      err << "distlock: " << failure.what() << "; waiting for the store\n" << std::flush;
    }
    if (!wait.clock.wait_until(std::min(wait.clock.steady_now() + pause, end), wait.stop)) {
      return nullptr;
    }
    if (wait.clock.steady_now() >= end) throw Error(failure);
  }
}

int wait_in_what_is_there(const WaitInStore& wait, Clock& clock, std::optional<milliseconds> most,
                          std::ostream& err) {
  const SteadyTime start = clock.steady_now();
  // In milliseconds, for a wait may be longer than nanoseconds can count.
  const Waited waited = [&] {
    return std::chrono::floor<milliseconds>(clock.steady_now() - start);
  };
  while (true) {
    try {
      return wait(waited);
    } catch (const Error& error) {
      const bool waits = !most || waited() < *most;
      if (error.errc() != Errc::store_replaced || !waits) throw;
      err << "distlock: " << error.what() << "; waiting in the store that is there now\n";
    }
  }
}

}  // namespace distlock::cli
