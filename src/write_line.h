#pragma once

#include <string>

namespace distlock {

/// Writes the line and its end to that descriptor as a whole. Another program that shares it may
/// have made it non-blocking: then it waits each time up to `patience_ms` until there is room, or
/// without an end if that is -1. A line that nobody can read any more is lost.
void write_line(int file, std::string line, int patience_ms);

}  // namespace distlock
