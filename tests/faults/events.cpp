#include "events.h"

#include <time.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace faults {
namespace {

std::string teller = "null";  // Until it has a name.

std::string quoted(std::string_view value) {
  return nlohmann::json(value).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::int64_t boot_now() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

std::int64_t boot_time(distlock::SteadyTime time) { return time.time_since_epoch().count(); }

Field number(std::string_view name, std::int64_t value) { return {name, std::to_string(value)}; }
Field text(std::string_view name, std::string_view value) { return {name, quoted(value)}; }

void tell_as(std::string_view name) { teller = quoted(name); }

void tell(std::int64_t at, std::string_view event, std::initializer_list<Field> fields) {
  std::string line = "{\"at\": " + std::to_string(at) + ", \"process\": " + teller +
                     ", \"event\": " + quoted(event);
  for (const Field& field : fields) line += ", " + quoted(field.name) + ": " + field.json;
  line += "}\n";
  // One call, so that lines of several threads do not mix: pipes keep up to PIPE_BUF together.
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) _exit(3);
}

}  // namespace faults
