#pragma once

#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstddef>

#include "percentiles.h"

// The memory and the processor time of this process.
namespace distlock::bench {

/// Bytes in use, by malloc's own account.
inline std::size_t allocated() {
  const auto heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

inline Nanoseconds cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace distlock::bench
