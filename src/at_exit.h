#pragma once

#include <atomic>
#include <cstdint>

namespace distlock {

/// A function that the end of the program calls, maybe twice. It comes before the end of objects
/// that are older than the first use.
///
/// At a fork another thread may be at a registration of its own, with the system's lock for that. A
/// child that registered something would wait for ever. So a child of a process with several
/// threads has its parent's registration only. Then the end of objects of the child comes earlier.
///
/// Threads: any. Ready before any static object is made, and never destroyed.
class AtExit {
 public:
  constexpr explicit AtExit(void (*function)()) : function_(function) {}

  /// Before the function is needed.
  void ensure() noexcept;
  /// In the parent, before each fork.
  void before_fork() noexcept;

 private:
  void enrol() noexcept;

  void (*const function_)();
  std::atomic<bool> registered_ = false;             ///< Here, or in a process that forked.
  std::atomic<std::uint64_t> used_in_ = UINT64_MAX;  ///< The fork_generation() of the last use.
};

}  // namespace distlock
