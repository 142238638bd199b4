#include <algorithm>

#include "sim/oracle.h"

namespace distlock::sim {
namespace {

// R17, in words of its own.
constexpr std::chrono::milliseconds kTurn{100};
constexpr std::chrono::seconds kOvertakenMost{10};
constexpr std::int64_t kTurnsMost = 20;

// With one who was passed over in the line turns last half as long, with more a third.
bool may_come(std::uint64_t others_in_front, std::uint64_t passed_over,
              std::chrono::milliseconds free_for) {
  const auto shorter = static_cast<std::int64_t>(std::min<std::uint64_t>(passed_over, 2)) + 1;
  const std::int64_t turns = std::clamp<std::int64_t>(
      std::min<std::chrono::milliseconds>(free_for, kTurnsMost * kTurn) * shorter / kTurn, 0,
      kTurnsMost);
  return others_in_front + 1 < (std::uint64_t{2} << turns);
}

}  // namespace

bool Oracle::something_taken_but(std::string_view name) const {
  return std::any_of(locks_.begin(), locks_.end(), [&](const auto& one) {
    const auto& [lock, history] = one;
    return lock != name && !history.versions.empty() && history.versions.back().lock.taken;
  });
}

// At the time at which the claim was written, and not when it came. Outsiders know no line. Where
// the clock has stepped since it came, or is another one, the store cannot know who is early.
void Oracle::granted_from_free(const Doer& by, const Document& before, const Token& ts,
                               StoreTime read, StoreTime now) {
  const Value* const field = find_field(before, "freed_at");
  const auto* const freed_at = field == nullptr ? nullptr : std::get_if<StoreTime>(field);
  if (freed_at == nullptr || by.process.empty()) return;
  if (*freed_at - read > kOvertakenMost) return;
  const std::vector<Waiter> line = line_of(before);
  const auto passed_over =
      static_cast<std::uint64_t>(std::count_if(line.begin(), line.end(), [](const Waiter& waiter) {
        return waiter.passed_over.has_value();
      }));
  std::uint64_t in_front = 0;
  for (const Waiter& waiter : line) {
    if (waiter.ticket == ts && waiter.passed_over) return;
    if (waiter.ticket == ts) break;
    if (!waiter.passed_over) ++in_front;
  }
  if (may_come(in_front, passed_over, now - *freed_at)) return;
  violate(std::string(by.process) + " pushed in past " + std::to_string(in_front) + " others");
}

}  // namespace distlock::sim
