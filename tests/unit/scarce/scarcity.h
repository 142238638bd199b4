#pragma once

namespace distlock::testing {

// This program's pthread_create() and operator new fail when they are told to.

/// While it lives, no more than so many threads can be started.
class ThreadsLeft {
 public:
  explicit ThreadsLeft(int count);
  ~ThreadsLeft();
  ThreadsLeft(const ThreadsLeft&) = delete;
  ThreadsLeft& operator=(const ThreadsLeft&) = delete;

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

}  // namespace distlock::testing
