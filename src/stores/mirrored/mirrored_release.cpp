#include <algorithm>

#include "stores/mirrored/mirrored_store.h"
#include "stores/mirrored/too_few.h"

// A hold is freed on all members (M2).
namespace distlock::mirrored {
namespace {

// Frees one hold and no other, so that it does no harm on any store.
constexpr CallRules kRelease{.kind = CallKind::write, .with_identity = false};

/// Nothing: the member says that there is nothing to free, and is none of the set.
using Released = std::optional<ReleaseResult>;

bool says_free(const MemberReleased& one) {
  return one.answer && *one.answer != ReleaseResult::not_ours;
}

bool may_have_freed(const Reply<Released>& reply) {
  return !reply.answer && (!reply.failure || reply.failure->errc() == Errc::outcome_unknown);
}

bool is_one_of(const std::vector<Token>& lives, const Member& member) {
  const auto life = member.identity();
  return life && std::find(lives.begin(), lives.end(), life->token) != lives.end();
}

}  // namespace

ReleaseResult MirroredStore::release(std::string_view name, const Token& ts) {
  check_not_identity(name);
  const Token set = this->set();
  const SteadyTime asked_all = clock_->steady_now();
  const std::vector<Token> granted = freed_.granted_by(name, ts);
  // Such a claim may be granted behind the release, and have its answer before this call ends.
  std::vector<bool> claim_may_come;
  for (const auto& member : all_) claim_may_come.push_back(member->may_grant(ts));
  const auto replies = ask_all<Released>(
      kRelease.of_set(set), [lock = std::string(name), ts, set](Member& member) -> Released {
        const SteadyTime asked = member.now();
        const ReleaseResult result = member.store->release(lock, ts);
        if (result == ReleaseResult::freed) return result;
        const auto identity = member.identity_after(asked);
        return identity && identity->set == set ? Released(result) : std::nullopt;
      });
  std::vector<MemberReleased> said;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    said.push_back({.answer = replies[i].answer.value_or(std::nullopt),
                    .may_have_freed = may_have_freed(replies[i]),
                    .granted = is_one_of(granted, *all_[i])});
    auto& answer = said.back().answer;
    const bool may_come = claim_may_come[i] || all_[i]->may_grant(ts);
    if (answer != ReleaseResult::freed && may_come) answer.reset();
  }
  if (std::all_of(said.begin(), said.end(), says_free)) freed_.note_freed(name, ts, asked_all);
  const auto result = settle_release(said);
  if (!result) throw_too_few(all_, replies, set, Errc::outcome_unknown, kRelease);
  return *result;
}

}  // namespace distlock::mirrored
