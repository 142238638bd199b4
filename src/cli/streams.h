#pragma once

#include <cstddef>
#include <iosfwd>

namespace distlock::cli {

/// In columns and rows; 0: it is no terminal, or does not say.
struct TerminalSize {
  std::size_t width = 0;
  std::size_t height = 0;
};

/// The streams that a command reads and writes. Data goes to `out`, messages to `err`.
struct Streams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_is_terminal = false;
  bool out_in_colour = false;
  std::size_t out_width = 0;         ///< Of the terminal; 0: it is none.
  std::size_t out_height = 0;        ///< Likewise.
  std::ostream* warnings = nullptr;  ///< For what is in no table; null: `err`.
};

}  // namespace distlock::cli
