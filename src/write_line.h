#pragma once

#include <string>

namespace distlock {

/// Writes the line and its end to that descriptor as a whole, as long as that takes. Another
/// program that shares it may have made it non-blocking. A line that nobody can read any more is
/// lost.
void write_line(int file, std::string line);

}  // namespace distlock
