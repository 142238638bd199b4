#include "cli/repeats.h"

#include <chrono>

#include "cli/duration.h"

namespace distlock::cli {
namespace {

constexpr std::chrono::seconds kQuiet{10};
// After this a line is a new one.
constexpr std::chrono::seconds kForgotten{60};

}  // namespace

std::optional<std::string> Repeats::to_write(const std::string& line, SteadyTime now) {
  std::erase_if(written_, [now](const auto& entry) { return now - entry.second.at >= kForgotten; });
  const auto [entry, is_new] = written_.try_emplace(line, Written{.at = now});
  Written& last = entry->second;
  if (is_new) return line;
  if (now - last.at < kQuiet) {
    ++last.withheld;
    return std::nullopt;
  }
  const auto since = std::chrono::floor<std::chrono::milliseconds>(now - last.at);
  const int times = last.withheld + 1;
  last = {.at = now};
  if (times == 1) return line;
  return line + " (" + std::to_string(times) + " times in " + duration_text(since) + ")";
}

}  // namespace distlock::cli
