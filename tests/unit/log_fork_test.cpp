#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <optional>
#include <thread>

#include "distlock/log.h"
#include "log_thread.h"
#include "support/asleep.h"
#include "support/forked_child.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

thread_local const std::function<void()>* in_the_middle = nullptr;

// Registered before all handlers of the library, so that it runs after those that come before a
// fork.
[[gnu::constructor(101)]] void register_first() {
  (void)pthread_atfork(
      [] {
        if (in_the_middle != nullptr) (*in_the_middle)();
      },
      nullptr, nullptr);
}

/// Forks, and calls `act` once the library's handlers have prepared for that.
void fork_with(const std::function<void()>& act) {
  in_the_middle = &act;
  const pid_t child = fork();
  in_the_middle = nullptr;
  if (child == 0) leave(0);
  waitpid(child, nullptr, 0);
}

/// A thread that adds a line to the log.
class Adds {
 public:
  /// Whether the log is held still, so that the line waits.
  bool waits() {
    const pid_t thread = number_.get_future().get();
    while (!added_ && !asleep(thread)) boost::this_thread::yield();
    return !added_;
  }

 private:
  std::promise<pid_t> number_;
  std::atomic<bool> added_ = false;
  std::jthread thread_{[this] {
    number_.set_value(gettid());
    log::hand_over(LogLevel::debug, "added");
    added_ = true;
  }};
};

/// 0 if the log is held still for the whole of a fork, within which another thread's fork ends.
int holds_still_beside_another_fork() {
  std::promise<void> first_forks;
  std::promise<void> second_forks;
  std::promise<void> first_has_forked;
  std::jthread first([&] {
    fork_with([&] {
      first_forks.set_value();
      second_forks.get_future().wait();
    });
    first_has_forked.set_value();
  });
  first_forks.get_future().wait();
  // This process has its log from here on: the first thread holds none.
  log::hand_over(LogLevel::debug, "begins");
  if (!flush_log(1min)) return 1;
  std::optional<Adds> adds;
  bool waits = false;
  fork_with([&] {
    second_forks.set_value();
    first_has_forked.get_future().wait();
    waits = adds.emplace().waits();
  });
  adds.reset();
  if (!flush_log(1min)) return 2;
  return waits ? 0 : 3;
}

}  // namespace

TEST_CASE("the log is held still for one thread's fork while another thread's fork ends",
          "[log][R16][threads][unsanitized][forks]") {
  CHECK(answer_of_child(holds_still_beside_another_fork) == 0);
}
