#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "distlock/clock.h"

namespace distlock {

/// Sums up lines that repeat, such as those of pings that fail eight times a second.
///
/// Threads: calls must not overlap.
class Repeats {
 public:
  /// The text to write for `line`: nothing if it was written less than 10 s ago. Otherwise the line
  /// and, if some were withheld since, their number and the time.
  std::optional<std::string> to_write(const std::string& line, SteadyTime now);

  /// How many lines it remembers.
  std::size_t size() const { return written_.size(); }

 private:
  struct Written {
    SteadyTime at;
    int withheld = 0;
  };

  std::map<std::string, Written> written_;
};

}  // namespace distlock
