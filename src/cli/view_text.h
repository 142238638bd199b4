#pragma once

#include <iosfwd>

#include "cli/view.h"

namespace distlock::cli {

/// How text is laid out.
struct Layout {
  bool in_colour = false;
  std::size_t width = 0;  ///< Of the terminal, which nothing exceeds; 0: no limit.
  bool verbose = false;   ///< All that there is, as wide as that is.
};

/// One table of locks and one of pings.
void print_list(std::ostream& out, const View& view, const Layout& layout);

/// The table of locks, or `none` if the view has none.
void print_locks(std::ostream& out, const View& view, const char* none, const Layout& layout);

/// All about the view's first lock, a line a field.
void print_lock(std::ostream& out, const View& view, const Layout& layout);

}  // namespace distlock::cli
