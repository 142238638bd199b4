#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "distlock/clock.h"

namespace faults {

/// CLOCK_BOOTTIME in nanoseconds: the clock of all events, and of valid_until().
std::int64_t boot_now();
std::int64_t boot_time(distlock::SteadyTime time);

/// A value of an event, as JSON.
struct Field {
  std::string_view name;
  std::string json;
};
Field number(std::string_view name, std::int64_t value);
Field text(std::string_view name, std::string_view value);

/// Writes one line, whole, whatever other threads write: what happened at `at`.
void tell(std::int64_t at, std::string_view event, std::initializer_list<Field> fields = {});
/// The client that writes the events.
void tell_as(std::string_view name);

}  // namespace faults
