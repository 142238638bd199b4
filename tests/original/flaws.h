#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace distlock::original {

/// The ways in which the original's algorithm fails, by cause. In the first six two processes hold
/// one lock, in the others nobody can have it.
enum class Flaw : std::uint8_t {
  double_takeover,
  late_unlock,
  own_late_unlock,
  fast_clock,
  slow_clock,
  silent_holder,
  cleanup_wedge,
  no_first_ping,
  ping_in_the_future,
  stuck_claim,
  stuck_unlock,
};
inline constexpr std::size_t kFlaws = 11;

std::string_view name_of(Flaw flaw);
std::string_view about(Flaw flaw);

/// The first case of each flaw in one run, in words.
using Findings = std::array<std::optional<std::string>, kFlaws>;

}  // namespace distlock::original
