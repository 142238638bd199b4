#pragma once

#include <time.h>

#include <chrono>

namespace distlock {

/// Waits for about so long. Nothing interrupts it but a signal.
inline void nap(std::chrono::microseconds time) {
  const timespec wait{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds{time}.count()};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, nullptr);
}

}  // namespace distlock
