#include "stores/mirrored/votes.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "failure.h"

namespace distlock::mirrored {
namespace {

Vote vote_of(const Reply<ClaimAnswer>& reply, const Token& set, Fence fence) {
  if (reply.failure) {
    const bool unknown = reply.answer || reply.failure->errc() == Errc::outcome_unknown;
    return unknown ? Vote::unknown : Vote::refused;
  }
  if (!reply.answer || !reply.answer->granted) return Vote::refused;
  // The member was emptied or exchanged meanwhile. It may be there again when the claim is read
  // back, so that nobody may undo the claim before.
  if (!reply.identity || reply.identity->set != set) return Vote::unknown;
  // Holds that the member lost may have had this fence.
  return fence > reply.identity->fence ? Vote::granted : Vote::refused;
}

// The first, if there is one.
const Error* failure_in(const Replies<ClaimAnswer>& replies) {
  const auto failed = std::find_if(replies.begin(), replies.end(),
                                   [](const auto& reply) { return reply.failure.has_value(); });
  return failed == replies.end() ? nullptr : &*failed->failure;
}

}  // namespace

std::vector<Vote> votes_of(const Replies<ClaimAnswer>& replies, const Token& set, Fence fence) {
  std::vector<Vote> votes;
  for (const auto& reply : replies) votes.push_back(vote_of(reply, set, fence));
  return votes;
}

LockRecord held_record(const Replies<ClaimAnswer>& replies, const std::vector<Vote>& votes) {
  std::optional<LockRecord> record;
  for (std::size_t i = 0; i < votes.size(); ++i) {
    if (votes[i] != Vote::granted) continue;
    if (!record) record = replies[i].answer->granted;
    record->members.push_back(replies[i].identity->token);
  }
  return *record;
}

Error unknown_outcome(const Replies<ClaimAnswer>& replies) {
  for (const auto& reply : replies) {
    const bool unknown = reply.failure && reply.failure->errc() == Errc::outcome_unknown;
    if (unknown) return *reply.failure;
  }
  // Granted, but the member's identity could not be read, or was not that of a member.
  const Error* failure = failure_in(replies);
  return {Errc::outcome_unknown,
          failure != nullptr ? failure->what()
                             : "a member of the mirrored store was emptied or exchanged while it "
                               "granted a claim"};
}

// Those that were not asked are away.
void throw_failure_in(const Replies<ClaimAnswer>& replies) {
  const auto lasts = [](const auto& reply) { return reply.failure && !may_pass(*reply.failure); };
  const auto lasting = std::find_if(replies.begin(), replies.end(), lasts);
  const auto deny = static_cast<std::size_t>(std::count_if(lasting, replies.end(), lasts));
  const bool waits = replies.size() - deny >= majority_of(replies.size());
  if (!waits) throw Error(*lasting->failure);
  std::string why;
  for (const auto& reply : replies) {
    if (reply.failure) why += std::string("; ") + reply.failure->what();
  }
  if (why.empty()) return;
  throw Error(
      Errc::not_applied,
      "too few members of the mirrored store granted a claim, and they have freed it" + why);
}

bool perhaps_granted(const Reply<ClaimAnswer>& reply) {
  if (reply.answer) return reply.answer->granted.has_value();
  return reply.failure && reply.failure->errc() == Errc::outcome_unknown;
}

bool is_gone(const Reply<ClaimAnswer>& claim, const Reply<ReleaseResult>& release) {
  if (!release.answer) return false;
  // A claim that got no answer may still arrive.
  return *release.answer != ReleaseResult::not_ours || claim.answer.has_value();
}

}  // namespace distlock::mirrored
