#pragma once

#include <pthread.h>

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <new>

#include "distlock/clock.h"

namespace distlock::testing {

// This program's pthread_create() and operator new fail when they are told to.

/// While it lives, no more than so many threads can be started.
class ThreadsLeft {
 public:
  explicit ThreadsLeft(int count);
  ~ThreadsLeft();
  ThreadsLeft(const ThreadsLeft&) = delete;
  ThreadsLeft& operator=(const ThreadsLeft&) = delete;

  /// How many more can be started.
  static int left();
  /// The number of threads that were refused.
  static int refusals();
};

/// While it lives, threads of that name get no memory.
class NoMemoryFor {
 public:
  explicit NoMemoryFor(const char* thread_name);
  ~NoMemoryFor();
  NoMemoryFor(const NoMemoryFor&) = delete;
  NoMemoryFor& operator=(const NoMemoryFor&) = delete;

  /// How often they were refused memory.
  static int refusals();
};

/// While it lives, the first time that its thread asks for memory while this is true, it gets none.
class NoMemoryOnce {
 public:
  explicit NoMemoryOnce(const std::function<bool()>& when);
  ~NoMemoryOnce();
  NoMemoryOnce(const NoMemoryOnce&) = delete;
  NoMemoryOnce& operator=(const NoMemoryOnce&) = delete;
};

/// Calls `scene` again and again, with a function that calls an action. In the Nth call the action
/// gets no memory the Nth time that it asks for some. Ends when it has asked less often. Exceptions
/// of the action go no further.
template <class Scene>
void at_each_want_of_memory(const Scene& scene) {
  int asked = 0;
  for (int left = 0; asked >= left; ++left) {
    CAPTURE(left);
    scene([&](const auto& action) {
      asked = 0;
      const NoMemoryOnce none([&] { return asked++ == left; });
      try {
        action();
      } catch (const std::exception&) {
        // The scene looks at what has come of it.
      }
    });
  }
}

/// While it lives, the next time that its thread frees memory, this runs first. So a test gets in
/// between two steps of a function.
class OnNextFree {
 public:
  explicit OnNextFree(const std::function<void()>& act);
  ~OnNextFree();
  OnNextFree(const OnNextFree&) = delete;
  OnNextFree& operator=(const OnNextFree&) = delete;
};

/// On a thread that gets no memory, whatever it throws.
template <class Action>
bool ends_without_memory(const Action& action) {
  bool got_none = false;
  boost::thread([&] {
    pthread_setname_np(pthread_self(), "starving");
    const NoMemoryFor me("starving");
    try {
      action();
    } catch (const std::bad_alloc&) {
    }
    got_none = NoMemoryFor::refusals() > 0;
  }).join();
  return got_none;
}

/// Waits for it, for a minute at most.
template <class Condition>
bool comes_true(const Condition& condition) {
  const auto until = host_clock()->steady_now() + std::chrono::minutes{1};
  while (!condition()) {
    if (host_clock()->steady_now() > until) return false;
    boost::this_thread::yield();
  }
  return true;
}

}  // namespace distlock::testing
