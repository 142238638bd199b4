#pragma once

namespace distlock::cli {

/// A file descriptor that is readable from set() to clear().
class Event {
 public:
  /// Errors: std::system_error if there is no descriptor left.
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  int descriptor() const { return descriptor_; }
  void set() const;
  /// Waits for set() if need be. Safe between fork and exec.
  void clear() const;

 private:
  int descriptor_;
};

}  // namespace distlock::cli
