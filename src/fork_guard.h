#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace distlock {

/// How often this process is a fork of the one that loaded the library: 0 at first, one more in
/// each child (R16). Cheap enough for every call.
std::uint64_t fork_generation() noexcept;

/// Remembers in which process something was made.
class ForkGuard {
 public:
  ForkGuard() : generation_(fork_generation()) {}

  /// In a child that was forked after this was made. The guarded object must not be touched there.
  bool in_child() const noexcept { return generation_ != fork_generation(); }

  /// Errors: `forked` if in_child(), naming what is guarded.
  void check(const char* what) const;

 private:
  std::uint64_t generation_;
};

/// Never lets go of an object that a forked child must not end. Takes no memory, of which there may
/// be none.
template <class T>
void never_let_go(std::shared_ptr<T> object) noexcept {
  alignas(std::shared_ptr<T>) std::array<std::byte, sizeof(std::shared_ptr<T>)> left;
  new (left.data()) std::shared_ptr<T>(std::move(object));
}

/// An object that a forked child leaves alone: it is not destroyed there. For what another thread
/// may have been at when the process forked.
template <class T>
class LeftInChild {
 public:
  template <class... Arguments>
  explicit LeftInChild(Arguments&&... arguments)
      : value_(std::make_unique<T>(std::forward<Arguments>(arguments)...)) {}
  ~LeftInChild() {
    if (guard_.in_child()) (void)value_.release();
  }
  LeftInChild(const LeftInChild&) = delete;
  LeftInChild& operator=(const LeftInChild&) = delete;

 private:
  ForkGuard guard_;
  std::unique_ptr<T> value_;
};

/// An object that every process has its own of, also a forked child. The first use makes it, and no
/// thread waits for another: a thread that a fork has left behind would never be done. Two threads
/// may make one at once; the second is dropped. Never destroyed, so that it may be used while the
/// program ends.
template <class T>
class PerProcess {
 public:
  T& get() {
    Made* made = made_.load();
    while (made == nullptr || made->in != fork_generation()) {
      auto* fresh = new Made{fork_generation(), {}};
      if (made_.compare_exchange_strong(made, fresh)) return fresh->value;
      delete fresh;
    }
    return made->value;
  }

  /// Null if this process has not made its own yet.
  T* find() {
    Made* made = made_.load();
    return made == nullptr || made->in != fork_generation() ? nullptr : &made->value;
  }

 private:
  struct Made {
    std::uint64_t in;
    T value;
  };
  std::atomic<Made*> made_{nullptr};
};

}  // namespace distlock
