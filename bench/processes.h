#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "distlock/store.h"

// For benchmarks of several processes.
namespace distlock::bench {

/// A child that does `work` and ends. Errors: std::runtime_error.
template <class Work>
pid_t started(const Work& work) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child > 0) return child;
  try {
    work();
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "a process of the benchmark: %s\n", error.what());
    _exit(1);
  }
}

/// A T that the process and its children share, for good.
template <class T>
T& shared_by_processes() {
  void* const page =
      mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::runtime_error("no memory");
  return *new (page) T;
}

/// Waits until it has happened. Errors: std::runtime_error with `otherwise` after a minute.
template <class Happened>
void await(const Happened& happened, const char* otherwise) {
  const auto give_up_at = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (!happened()) {
    if (std::chrono::steady_clock::now() > give_up_at) throw std::runtime_error(otherwise);
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
}

/// Waits until so many stand in line for the lock. Errors: std::runtime_error after a minute.
inline void await_line(Store& store, std::string_view name, std::size_t length) {
  const auto stand = [&] {
    const auto seen = store.inspect(name, Freshness::fresh);
    return seen.lock && seen.lock->line.size() >= length;
  };
  await(stand, "the line does not get longer");
}

/// Errors: std::runtime_error if one of them failed.
inline void await_ends() {
  bool good = true;
  for (int status = 0; wait(&status) > 0;) good = good && status == 0;
  if (!good) throw std::runtime_error("a process failed");
}

}  // namespace distlock::bench
