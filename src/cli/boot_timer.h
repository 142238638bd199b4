#pragma once

#include "distlock/clock.h"

namespace distlock::cli {

/// A file descriptor that becomes readable at a time of the steady clock, and stays so until it is
/// set anew. Other than the timeout of poll(2) it counts the time of a suspend.
class BootTimer {
 public:
  BootTimer();
  ~BootTimer();
  BootTimer(const BootTimer&) = delete;
  BootTimer& operator=(const BootTimer&) = delete;

  int descriptor() const { return descriptor_; }

  /// SteadyTime::max(): never.
  void set(SteadyTime at) const;

 private:
  int descriptor_;
};

}  // namespace distlock::cli
