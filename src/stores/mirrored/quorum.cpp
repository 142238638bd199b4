#include "stores/mirrored/quorum.h"

#include <algorithm>
#include <map>
#include <string>

#include "carries.h"
#include "distlock/error.h"

namespace distlock::mirrored {
namespace {

template <class Answers, class Wanted>
std::size_t number_of(const Answers& answers, const Wanted& wanted) {
  return static_cast<std::size_t>(std::count(answers.begin(), answers.end(), wanted));
}

bool is_taken(const Carried& carried) { return carried.state && *carried.state != LockState::free; }

using CarriedContent = std::pair<std::optional<Token>, std::optional<LockState>>;

// Both states of a taken lock mean the same (R14).
CarriedContent carried_content_of(const Carried& carried) {
  return {carried.ts, is_taken(carried) ? LockState::taken : carried.state};
}

// Whether this member is not, and will never be, one of those that carry a hold: it was freed
// there, or the fence of the document or of the identity is too great for it (M3, M6).
bool will_never_carry(const Inspection& member, const LockRecord& hold) {
  if (!member.fresh || carries(member, hold.ts)) return false;
  if (!carries_for_majority(hold.fence, member.fence_of_lost)) return true;
  return member.lock && (member.lock->fence > hold.fence || member.lock->ts == hold.ts);
}

}  // namespace

void check_number(std::size_t members) {
  if (members % 2 == 1 && members <= kMembersMost) return;
  throw Error(Errc::invalid_argument,
              "a mirrored store of " + std::to_string(members) +
                  " members: give it 1, 3, 5, 7 or 9; an even number bears no more members away "
                  "than one less");
}

std::size_t majority_of(std::size_t members) { return members / 2 + 1; }

Settled settle_claim(const std::vector<Vote>& votes) {
  const std::size_t majority = majority_of(votes.size());
  const std::size_t granted = number_of(votes, Vote::granted);
  if (granted >= majority) return Settled::held;
  const std::size_t perhaps = granted + number_of(votes, Vote::unknown);
  return perhaps < majority ? Settled::not_held : Settled::unknown;
}

std::optional<ReleaseResult> settle_release(const std::vector<MemberReleased>& members) {
  const std::size_t majority = majority_of(members.size());
  const auto number = [&](const auto& wanted) {
    return static_cast<std::size_t>(std::count_if(members.begin(), members.end(), wanted));
  };
  const auto say = [&](ReleaseResult result) {
    return number([&](const MemberReleased& one) { return one.answer == result; });
  };
  const std::size_t not_ours = say(ReleaseResult::not_ours);
  const std::size_t freed = say(ReleaseResult::freed);
  const std::size_t already = say(ReleaseResult::already_free);
  const std::size_t perhaps =
      freed + number([](const MemberReleased& one) { return !one.answer && one.may_have_freed; });
  const std::size_t ended = number([](const MemberReleased& one) {
    return one.answer == ReleaseResult::not_ours && one.granted;
  });
  if (not_ours >= majority) {
    const bool in_part = perhaps > 0 && ended < majority;
    return in_part ? ReleaseResult::freed_in_part : ReleaseResult::not_ours;
  }
  if (not_ours + freed + already < majority) return std::nullopt;
  return freed > 0 ? ReleaseResult::freed : ReleaseResult::already_free;
}

CarriedByMajority settle_carried(const std::vector<MemberCarries>& members) {
  const std::size_t majority = majority_of(members.size());
  struct Alike {
    Carried shown;
    std::size_t members = 0;
  };
  std::map<CarriedContent, Alike> alike;
  std::map<Token, std::size_t> takers;
  std::size_t absent = 0;
  std::size_t unsure = 0;  // might carry any hold
  for (const MemberCarries& one : members) {
    if (!one.answered) {
      ++unsure;
    } else if (!one.carried) {
      ++absent;
    } else {
      const Carried& carried = *one.carried;
      Alike& same = alike.try_emplace(carried_content_of(carried), Alike{carried}).first->second;
      ++same.members;
      if (!carried.state) ++unsure;
      if (carried.ts && is_taken(carried)) ++takers[*carried.ts];
    }
  }
  if (absent >= majority) return {false, std::nullopt};
  for (const auto& [content, same] : alike) {
    if (same.members >= majority) return {false, same.shown};
  }
  std::size_t most = 0;
  for (const auto& [ts, count] : takers) most = std::max(most, count);
  return {most + unsure >= majority, Carried{std::nullopt, LockState::free}};
}

std::vector<Fence> fences_of(const std::vector<Inspection>& seen) {
  std::vector<Fence> fences;
  fences.reserve(seen.size());
  for (const Inspection& one : seen) fences.push_back(one.fence);
  return fences;
}

std::optional<std::size_t> great_in_doubt(const std::vector<Fence>& fences, std::size_t majority) {
  const auto is_great = [](Fence fence) { return fence >= kGreatFence; };
  const auto first = std::find_if(fences.begin(), fences.end(), is_great);
  const auto great = static_cast<std::size_t>(std::count_if(first, fences.end(), is_great));
  if (great == 0 || great >= majority || fences.size() - great >= majority) return std::nullopt;
  return static_cast<std::size_t>(first - fences.begin());
}

// Where a minority has a great fence, no hold with a majority had it (M3). With it, the next holds
// would come to the greatest there is.
std::vector<std::size_t> great_of_minority(const std::vector<Fence>& fences, std::size_t left_out,
                                           std::size_t majority) {
  std::vector<std::size_t> great;
  for (std::size_t i = 0; i < fences.size(); ++i) {
    if (fences[i] >= kGreatFence) great.push_back(i);
  }
  // A malformed document is left out, and its member may have lost great fences all the same.
  if (great.size() + left_out + majority > fences.size()) return {};
  return great;
}

std::vector<Token> leave_out_great_fences(std::vector<Inspection>& seen, std::size_t majority) {
  const auto great = great_of_minority(fences_of(seen), 0, majority);
  std::vector<Token> left_out;
  left_out.reserve(great.size());
  for (const std::size_t i : great) left_out.push_back(seen[i].member);
  for (auto i = great.rbegin(); i != great.rend(); ++i) {
    seen.erase(seen.begin() + static_cast<std::ptrdiff_t>(*i));
  }
  return left_out;
}

std::vector<Inspection> with_ends_of_holds(std::vector<Inspection> seen, std::size_t majority) {
  for (Inspection& one : seen) {
    if (!one.lock || !one.lock->taken()) continue;
    const auto never = std::count_if(seen.begin(), seen.end(), [&](const Inspection& member) {
      return will_never_carry(member, *one.lock);
    });
    one.over = static_cast<std::size_t>(never) >= majority;
  }
  return seen;
}

}  // namespace distlock::mirrored
