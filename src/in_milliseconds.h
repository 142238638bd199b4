#pragma once

#include <chrono>
#include <string>

namespace distlock {

/// A span as messages say it: "1500 ms". Not from nanoseconds, which hold no more than 292 years.
inline std::string in_milliseconds(std::chrono::milliseconds span) {
  return std::to_string(span.count()) + " ms";
}

}  // namespace distlock
