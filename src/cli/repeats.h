#pragma once

#include <map>
#include <optional>
#include <string>

#include "distlock/clock.h"

namespace distlock::cli {

/// Sums up lines that come again and again, as those of pings that fail eight times a second.
///
/// Threads: calls must not overlap.
class Repeats {
 public:
  /// The text to write for `line`: nothing if it was written less than 10 s ago, else the line,
  /// with how often it has come since.
  std::optional<std::string> to_write(const std::string& line, SteadyTime now);

 private:
  struct Written {
    SteadyTime at;
    int withheld = 0;
  };

  std::map<std::string, Written> written_;
};

}  // namespace distlock::cli
