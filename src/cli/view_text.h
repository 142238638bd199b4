#pragma once

#include <iosfwd>

#include "cli/view.h"

namespace distlock::cli {

/// One table of locks and one of pings.
void print_list(std::ostream& out, const View& view, bool in_colour);

/// The table of the locks that are taken or malformed.
void print_held(std::ostream& out, const View& view, bool in_colour);

/// All about one lock, a line a field. `now` as in View.
void print_lock(std::ostream& out, const LockView& lock, const std::optional<StoreNow>& now,
                bool in_colour);

}  // namespace distlock::cli
