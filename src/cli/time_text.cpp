#include "cli/time_text.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace distlock::cli {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

struct Date {
  std::int64_t year;
  unsigned month;
  unsigned day;
};

// std::chrono::year ends at 32767 and a stored date does not; hence by hand, in eras of 400 years
// that begin in March, so that the leap day is the last of its year.
Date date_of(std::int64_t days_since_epoch) {
  constexpr std::int64_t kEra = 146'097;
  const std::int64_t days = days_since_epoch + 719'468;
  const std::int64_t era = (days >= 0 ? days : days - kEra + 1) / kEra;
  const std::int64_t day_of_era = days - era * kEra;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month = (5 * day_of_year + 2) / 153;
  return {.year = year_of_era + era * 400 + (month >= 10 ? 1 : 0),
          .month = static_cast<unsigned>(month < 10 ? month + 3 : month - 9),
          .day = static_cast<unsigned>(day_of_year - (153 * month + 2) / 5 + 1)};
}

}  // namespace

std::string iso8601(StoreTime time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::int64_t count = time.time_since_epoch().count();
  constexpr std::int64_t kDay = 86'400'000;
  const auto of_day = static_cast<unsigned>((count % kDay + kDay) % kDay);
  const Date date = date_of(std::int64_t{days.time_since_epoch().count()});

  const bool plain = date.year >= 0 && date.year <= 9999;
  std::array<char, 64> text{};
  std::snprintf(
      text.data(), text.size(),
      plain ? "%04lld-%02u-%02uT%02u:%02u:%02u.%03uZ" : "%+07lld-%02u-%02uT%02u:%02u:%02u.%03uZ",
      static_cast<long long>(date.year), date.month, date.day, of_day / 3'600'000,
      of_day / 60'000 % 60, of_day / 1000 % 60, of_day % 1000);
  return text.data();
}

std::chrono::milliseconds between(StoreTime earlier, StoreTime later) {
  const std::int64_t from = earlier.time_since_epoch().count();
  const std::int64_t to = later.time_since_epoch().count();
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(to, from, &difference)) difference = to < from ? kLeast : kMost;
  return std::chrono::milliseconds{difference};
}

StoreTime plus(StoreTime time, std::chrono::milliseconds duration) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(time.time_since_epoch().count(), duration.count(), &sum)) {
    sum = duration.count() < 0 ? kLeast : kMost;
  }
  return StoreTime{std::chrono::milliseconds{sum}};
}

}  // namespace distlock::cli
