#include "protocol/member_judgements.h"

#include <algorithm>

namespace distlock::protocol {
namespace {

using std::chrono::milliseconds;

std::size_t number_of(Verdict verdict, const std::vector<Judgement>& members) {
  return static_cast<std::size_t>(
      std::count_if(members.begin(), members.end(),
                    [&](const Judgement& one) { return one.verdict == verdict; }));
}

Judgement first_of(Verdict verdict, const std::vector<Judgement>& members) {
  return *std::find_if(members.begin(), members.end(),
                       [&](const Judgement& one) { return one.verdict == verdict; });
}

// The member that decides when a majority can be taken from: the last that is needed for it. A
// member that somebody else has written to says nothing of the hold of the others.
Judgement deciding(std::vector<Judgement> members, std::size_t majority) {
  const auto due = [](const Judgement& one) {
    if (one.verdict != Verdict::busy) return milliseconds{0};
    return one.until_takeover == milliseconds{0} ? milliseconds::max() : one.until_takeover;
  };
  std::stable_sort(members.begin(), members.end(),
                   [&](const auto& one, const auto& other) { return due(one) < due(other); });
  return members[majority - 1];
}

}  // namespace

Judgement judge_members(const std::vector<Judgement>& members, std::size_t majority) {
  const std::size_t absent = number_of(Verdict::absent, members);
  const std::size_t free = number_of(Verdict::free, members) + absent;
  if (absent == members.size()) return {Verdict::absent};
  if (free >= majority) return {Verdict::free};
  if (free + number_of(Verdict::dead, members) >= majority) return first_of(Verdict::dead, members);
  if (members.size() < majority) return {};
  return deciding(members, majority);
}

}  // namespace distlock::protocol
