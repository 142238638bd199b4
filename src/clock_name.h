#pragma once

#include <string>
#include <string_view>

#include "distlock/record.h"

namespace distlock {

/// The name that a member's clock has for users of the mirrored store. Clocks of two members may
/// have one name and be any time apart, as those of two SQLite files of one machine.
inline std::string clock_name(const Token& member, std::string_view clock) {
  return to_hex(member) + ' ' + std::string(clock);
}

}  // namespace distlock
