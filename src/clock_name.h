#pragma once

#include <string>
#include <string_view>

#include "distlock/record.h"
#include "distlock/store.h"

namespace distlock {

/// The name that a member's clock has for users of the mirrored store. Clocks of two members may
/// have one name and be any time apart, as those of two SQLite files of one machine.
inline std::string clock_name(const Token& member, std::string_view clock) {
  return to_hex(member) + ' ' + std::string(clock);
}

/// Names the clock of a member's ping so.
inline void name_clock(PingRecord& ping, const Token& member) {
  if (ping.clock) ping.clock = clock_name(member, *ping.clock);
}

/// Names a member's clock so, and those that run beside it, since pings name theirs in that form.
inline void name_clock(StoreNow& now, const Token& member) {
  now.clock = clock_name(member, now.clock);
  for (std::string& beginning : now.unrelated) beginning = clock_name(member, beginning);
}

}  // namespace distlock
