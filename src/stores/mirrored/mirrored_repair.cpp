#include "stores/mirrored/mirrored_store.h"

// A holder writes its hold to members that lack it (M9).
namespace distlock::mirrored {
namespace {

constexpr CallRules kRepair{.kind = CallKind::write, .for_majority = false};

}  // namespace

// A release may come to a member before the claim, and find nothing to free. So it must know of the
// claim from before the hold is known to be there still.
std::vector<Token> MirroredStore::repair(std::string_view name,
                                         const std::vector<MemberBasis>& bases, const Claim& claim,
                                         const std::function<bool()>& still_held) {
  const Token set = this->set();
  const std::vector<Candidate> to = candidates(bases, claim, call_limit_);
  const SteadyTime until = clock_->steady_now() + longest_under_way();
  for (const Candidate& one : to) one.member->note_under_way(one.claim, until);
  Replies<ClaimAnswer> replies(all_.size());
  if (still_held()) send(name, to, replies, kRepair);
  // Those that got no answer are noted once more by now.
  for (const Candidate& one : to) one.member->forget_under_way(one.claim, until);
  const std::vector<Vote> votes = votes_of(replies, set, claim.fence);
  std::vector<Token> granted;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    if (votes[i] == Vote::granted) granted.push_back(replies[i].identity->token);
  }
  freed_.note_repaired(name, claim.ts, granted);
  return granted;
}

}  // namespace distlock::mirrored
