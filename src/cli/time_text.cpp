#include "cli/time_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace distlock::cli {
namespace {

struct Date {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

// A stored date may lie beyond std::chrono::year, which ends at 32767. The calendar repeats itself
// every 400 years.
Date date_of(std::chrono::sys_days day) {
  constexpr std::chrono::days kEra{146'097};
  const std::int64_t eras = day.time_since_epoch() / kEra;
  const std::chrono::year_month_day date{day - eras * kEra};
  return {.year = int{date.year()} + 400 * eras,
          .month = unsigned{date.month()},
          .day = unsigned{date.day()}};
}

}  // namespace

std::string iso8601(StoreTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::int64_t count = time.time_since_epoch().count();
  constexpr std::int64_t kDay = 86'400'000;
  const auto of_day = static_cast<unsigned>((count % kDay + kDay) % kDay);
  const Date date = date_of(std::chrono::sys_days{days.time_since_epoch()});

  const bool plain = date.year >= 0 && date.year <= 9999;
  std::array<char, 64> text{};
  std::snprintf(
      text.data(), text.size(),
      plain ? "%04lld-%02u-%02uT%02u:%02u:%02u.%03uZ" : "%+07lld-%02u-%02uT%02u:%02u:%02u.%03uZ",
      static_cast<long long>(date.year), date.month, date.day, of_day / 3'600'000,
      of_day / 60'000 % 60, of_day / 1000 % 60, of_day % 1000);
  return text.data();
}

}  // namespace distlock::cli
