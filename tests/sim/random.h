#pragma once

#include <cstdint>

namespace distlock::sim {

/// SplitMix64: one number of state, the same sequence on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  /// From 0 to `limit` - 1. `limit` must be more than 0.
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

  /// From `low` to `high`, both included.
  template <class Duration>
  Duration between(Duration low, Duration high) {
    const auto range = static_cast<std::uint64_t>((high - low).count()) + 1;
    return low + Duration{static_cast<typename Duration::rep>(below(range))};
  }

  bool chance(double probability) {
    return static_cast<double>(next() >> 11U) * 0x1.0p-53 < probability;
  }

  /// Another sequence, for a part whose draws must not shift those of the others.
  Random fork() { return Random(next()); }

 private:
  std::uint64_t state_;
};

}  // namespace distlock::sim
