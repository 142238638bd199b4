#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace distlock::cli {

/// The duration that `text` spells: a number, fractions allowed, and one of `ms`, `s`, `m`, `h`,
/// `d`; without a unit it counts seconds; or some of these, the largest unit first, as they are
/// printed: `1h30m`, `1h 30m`. Rounded to whole milliseconds, but never down to 0.
/// Nothing if it spells none, is negative, or is longer than 10,000 years.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// For people: the two largest units, `2h 5m`, and milliseconds below a minute, `1.5s`, `20ms`.
std::string duration_text(std::chrono::milliseconds duration);

/// The same in whole seconds, of which a part counts as one.
std::string rounded_up_text(std::chrono::milliseconds duration);

}  // namespace distlock::cli
