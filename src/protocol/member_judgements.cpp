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

// When the last member that is needed can be taken from; 0 if that cannot be foretold.
milliseconds until_takeover(const std::vector<Judgement>& members, std::size_t majority) {
  std::vector<milliseconds> due;
  for (const Judgement& one : members) {
    const bool never = one.verdict == Verdict::busy && one.until_takeover == milliseconds{0};
    if (!never) due.push_back(one.verdict == Verdict::busy ? one.until_takeover : milliseconds{0});
  }
  std::sort(due.begin(), due.end());
  return due.size() < majority ? milliseconds{0} : due[majority - 1];
}

}  // namespace

Judgement judge_members(const std::vector<Judgement>& members, std::size_t majority) {
  const std::size_t absent = number_of(Verdict::absent, members);
  const std::size_t free = number_of(Verdict::free, members) + absent;
  if (absent == members.size()) return {Verdict::absent};
  if (free >= majority) return {Verdict::free};
  if (free + number_of(Verdict::dead, members) >= majority) return first_of(Verdict::dead, members);
  if (number_of(Verdict::busy, members) == 0) return {};
  Judgement judgement = first_of(Verdict::busy, members);
  judgement.until_takeover = until_takeover(members, majority);
  return judgement;
}

}  // namespace distlock::protocol
