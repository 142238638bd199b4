#include "cli/duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

constexpr double kLongest = 10'000.0 * 365 * 24 * 3600 * 1000;

std::optional<double> milliseconds_of_unit(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s" || unit.empty()) return 1000;
  if (unit == "m") return 60 * 1000;
  if (unit == "h") return 3600 * 1000;
  if (unit == "d") return 24 * 3600 * 1000;
  return std::nullopt;
}

struct Part {
  double number = 0;
  double unit = 0;  ///< In milliseconds.
  bool has_unit = false;
};

// Takes `1h` and a blank behind it from the front of `text`.
std::optional<Part> next_part(std::string_view& text) {
  // from_chars also reads signs, "inf" and "nan"; none of them is a duration.
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  Part part;
  const char* const end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, part.number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  const std::string_view unit = text.substr(0, text.find_first_of("0123456789 "));
  const auto size = milliseconds_of_unit(unit);
  if (!size) return std::nullopt;
  text.remove_prefix(unit.size());
  if (text.size() > 1 && text.front() == ' ') text.remove_prefix(1);
  part.unit = *size;
  part.has_unit = !unit.empty();
  return part;
}

std::string seconds_text(std::uint64_t count) {
  std::string text = std::to_string(count / 1000);
  if (count % 1000 != 0) {
    std::string fraction = std::to_string(1000 + count % 1000).substr(1);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += '.' + fraction;
  }
  return text + 's';
}

std::string magnitude_text(std::uint64_t count) {
  if (count < 1000) return std::to_string(count) + "ms";
  if (count < 60'000) return seconds_text(count);

  constexpr std::array<std::pair<std::uint64_t, char>, 4> kUnits{
      {{86'400'000, 'd'}, {3'600'000, 'h'}, {60'000, 'm'}, {1000, 's'}}};
  std::size_t i = 0;
  while (count < kUnits[i].first) ++i;
  std::string text = std::to_string(count / kUnits[i].first) + kUnits[i].second;
  const std::uint64_t minor = count % kUnits[i].first / kUnits[i + 1].first;
  if (minor != 0) text += ' ' + std::to_string(minor) + kUnits[i + 1].second;
  return text;
}

}  // namespace

std::optional<milliseconds> parse_duration(std::string_view text) {
  double sum = 0;
  double last_unit = std::numeric_limits<double>::infinity();
  bool first = true;
  do {
    const auto part = next_part(text);
    // Largest units first, as they are printed; seconds go without one only alone.
    if (!part || part->unit >= last_unit) return std::nullopt;
    const bool alone = std::exchange(first, false) && text.empty();
    if (!part->has_unit && !alone) return std::nullopt;
    last_unit = part->unit;
    sum += part->number * part->unit;
  } while (!text.empty());
  if (sum > kLongest) return std::nullopt;
  const milliseconds rounded{std::llround(sum)};
  return sum > 0 && rounded.count() == 0 ? milliseconds{1} : rounded;
}

std::string duration_text(milliseconds duration) {
  const auto count = static_cast<std::uint64_t>(duration.count());
  return duration.count() < 0 ? '-' + magnitude_text(0 - count) : magnitude_text(count);
}

std::string rounded_up_text(milliseconds duration) {
  constexpr std::chrono::seconds kSecond{1};
  const milliseconds part = duration % kSecond;
  const milliseconds whole = duration - part;
  const bool has_room = whole <= milliseconds::max() - kSecond;
  return duration_text(part > part.zero() && has_room ? whole + kSecond : whole);
}

}  // namespace distlock::cli
