#include "pinger/of_another.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "carries.h"
#include "distlock/members.h"
#include "distlock/options.h"

namespace distlock {

Whose whose(const Environment& environment, const std::vector<Inspection>& seen, const Token& ts) {
  const Members* const members = environment.store->members();
  if (members == nullptr) return Whose::ours;
  std::map<std::string_view, std::size_t> others;
  std::size_t of_us = 0;
  for (const Inspection& member : seen) {
    if (!carries(member, ts)) continue;
    if (member.lock->process == environment.process)
      ++of_us;
    else
      ++others[member.lock->process];
  }
  const std::size_t silent = 2 * members->majority() - 1 - seen.size();
  if (others.empty() && (silent == 0 || of_us >= members->majority())) return Whose::ours;
  const bool perhaps = std::any_of(others.begin(), others.end(), [&](const auto& other) {
    return other.second + silent >= members->majority();
  });
  return perhaps ? Whose::perhaps_anothers : Whose::nobodys;
}

bool HoldsOfNobody::is_over(const std::vector<Inspection>& seen, const Token& ts, SteadyTime now) {
  std::chrono::milliseconds window{0};  // A document may state more than nanoseconds can count.
  for (const Inspection& member : seen) {
    if (!carries(member, ts)) continue;
    const auto stated = member.lock->takeover_after.value_or(LockOptions{}.unstated_window);
    window = std::max(window, stated);
  }
  const auto since = since_.try_emplace(ts, now).first->second;
  return std::chrono::floor<std::chrono::milliseconds>(now - since) >= window;
}

void HoldsOfNobody::keep(const std::vector<StoredHold>& listed) {
  std::erase_if(since_, [&](const auto& one) {
    return std::none_of(listed.begin(), listed.end(),
                        [&](const StoredHold& hold) { return hold.ts == one.first; });
  });
}

}  // namespace distlock
