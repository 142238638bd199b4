#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace distlock::bench {

using Nanoseconds = std::chrono::nanoseconds;

/// How long `step()` takes.
template <class Step>
Nanoseconds time_of(Step&& step) {
  const auto begun = std::chrono::steady_clock::now();
  step();
  return std::chrono::steady_clock::now() - begun;
}

inline double microseconds(Nanoseconds duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// Durations of one step, repeated.
class Samples {
 public:
  void add(Nanoseconds sample) { samples_.push_back(sample); }
  void add(const Samples& more) {
    samples_.insert(samples_.end(), more.samples_.begin(), more.samples_.end());
  }

  /// The smallest sample that `percent` of all do not exceed, in microseconds. 0 if there is none.
  double percentile(double percent) const {
    if (samples_.empty()) return 0;
    std::vector<Nanoseconds> sorted = samples_;
    std::sort(sorted.begin(), sorted.end());
    const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
    return microseconds(sorted[rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1]);
  }

 private:
  std::vector<Nanoseconds> samples_;
};

}  // namespace distlock::bench
