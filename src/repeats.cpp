#include "repeats.h"

#include <chrono>

namespace distlock {
namespace {

constexpr std::chrono::seconds kQuiet{10};
// A line that comes after so long counts as new.
constexpr std::chrono::seconds kForgotten{60};
// The most lines that are remembered.
constexpr std::size_t kMost = 1000;

}  // namespace

std::optional<std::string> Repeats::to_write(const std::string& line, SteadyTime now) {
  std::erase_if(written_, [now](const auto& entry) { return now - entry.second.at >= kForgotten; });
  if (written_.size() >= kMost && !written_.contains(line)) written_.clear();
  const auto [entry, is_new] = written_.try_emplace(line, Written{.at = now});
  Written& last = entry->second;
  if (is_new) return line;
  if (now - last.at < kQuiet) {
    ++last.withheld;
    return std::nullopt;
  }
  const auto since = std::chrono::floor<std::chrono::seconds>(now - last.at);
  const int times = last.withheld + 1;
  last = {.at = now};
  if (times == 1) return line;
  return line + " (" + std::to_string(times) + " times in " + std::to_string(since.count()) + "s)";
}

}  // namespace distlock
