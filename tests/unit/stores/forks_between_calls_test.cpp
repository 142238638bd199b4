// Which threads a fork finds in the middle of a call (R16).
#include "stores/forks_between_calls.h"

#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "distlock/clock.h"
#include "support/forked_child.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Whether a child that is forked now finds that another thread was in a call of the library.
bool found_by_a_child(Library library) {
  const int status = answer_of_child([&] { return forked_in_call_of(library) ? 1 : 0; });
  REQUIRE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

/// Whether one of ten takes less. A machine may stall, but not ten times.
bool one_of_ten_takes_less(std::chrono::nanoseconds limit,
                           const std::function<std::chrono::nanoseconds()>& time_taken) {
  for (int i = 0; i < 10; ++i) {
    if (time_taken() < limit) return true;
  }
  return false;
}

/// Of a new thread, until its call has begun.
std::chrono::nanoseconds time_to_begin(Library library) {
  std::chrono::nanoseconds took{};
  boost::thread([&] {
    const auto clock = host_clock();
    const auto before = clock->steady_now();
    const InCallOf call(library);
    took = clock->steady_now() - before;
  }).join();
  return took;
}

/// Longer than any limit where it fails.
std::chrono::nanoseconds time_to_fork() {
  const auto clock = host_clock();
  const auto before = clock->steady_now();
  const pid_t child = fork();
  if (child == 0) leave(0);
  const auto took = clock->steady_now() - before;
  const bool forked = child > 0 && waitpid(child, nullptr, 0) == child;
  return forked ? took : std::chrono::nanoseconds::max();
}

}  // namespace

TEST_CASE("a thread is in a call until the outermost one ends, but while it waits",
          "[stores][R16][forks]") {
  const auto library = GENERATE(Library::sqlite, Library::libmongoc);
  const auto other = library == Library::sqlite ? Library::libmongoc : Library::sqlite;
  boost::barrier step(2);
  // At each step the thread is where it is until the next one.
  const auto look = [&] {
    step.wait();
    step.wait();
  };
  boost::thread calling([&] {
    {
      const InCallOf outer(library);
      {
        const InCallOf inner(library);
        look();
        {
          const WaitInCallOf wait(library);
          look();
        }
        look();
      }
      look();
    }
    look();
  });
  std::vector<bool> found;
  for (int i = 0; i < 5; ++i) {
    step.wait();
    CHECK_FALSE(found_by_a_child(other));
    found.push_back(found_by_a_child(library));
    step.wait();
  }
  calling.join();
  CHECK(found == std::vector<bool>{true, false, true, true, false});
}

TEST_CASE("a wait outside of any call is none", "[stores][R16]") {
  { const WaitInCallOf wait(Library::libmongoc); }
  CHECK_FALSE(found_by_a_child(Library::libmongoc));
}

TEST_CASE("in a forked child the first call of each thread begins at once",
          "[stores][R16][forks]") {
  const auto library = GENERATE(Library::sqlite, Library::libmongoc);
  CHECK(answer_of_child([&] {
          return one_of_ten_takes_less(500ms, [&] { return time_to_begin(library); }) ? 0 : 1;
        }) == 0);
}

TEST_CASE("a child that was forked in the middle of a call forks at once", "[stores][R16][forks]") {
  const auto library = GENERATE(Library::sqlite, Library::libmongoc);
  boost::barrier step(2);
  boost::thread calling([&] {
    const InCallOf call(library);
    step.wait();
    step.wait();
  });
  step.wait();
  const int answer = answer_of_child(
      [] { return one_of_ten_takes_less(100ms, [] { return time_to_fork(); }) ? 0 : 1; });
  step.wait();
  calling.join();
  CHECK(answer == 0);
}
