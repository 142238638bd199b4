#pragma once

#include <iosfwd>

namespace distlock::cli {

/// What a command reads and writes. Data goes to `out`, messages to `err`.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_is_terminal = false;
  bool out_in_colour = false;
};

}  // namespace distlock::cli
