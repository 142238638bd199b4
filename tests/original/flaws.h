#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "original/algorithms.h"

namespace distlock::original {

/// The ways in which published algorithms fail, by cause. In the first six two processes of the
/// original hold one lock, in the next five nobody can have it.
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
  // of the original on three mirrored servers
  two_winners,
  late_propagation,
  propagation_of_free,
  server_away,
  lost_release,
  // of Redlock
  emptied_server,
  server_clock,
  own_clock,
  pause_after_majority,
};
inline constexpr std::size_t kFlaws = 20;

std::string_view name_of(Flaw flaw);
std::string_view about(Flaw flaw);
/// Whether the judges of that algorithm look for it.
bool may_show(Algorithm algorithm, Flaw flaw);

/// The first case of each flaw in one run, in words.
using Findings = std::array<std::optional<std::string>, kFlaws>;

}  // namespace distlock::original
