#include <algorithm>

#include "saturating.h"
#include "stores/document.h"
#include "stores/mirrored/mirrored_store.h"

// Claims on members (M2 to M5).
namespace distlock::mirrored {
namespace {

using std::chrono::milliseconds;

constexpr CallRules kClaimOfOwn{.kind = CallKind::write, .with_identity = false};
constexpr CallRules kUndo{.kind = CallKind::write, .with_identity = false, .for_majority = false};

}  // namespace

// The greatest fence that any member lost, as far as this process has read it. A hold that is to
// get to a member that is away for a moment needs a greater one.
Fence MirroredStore::fence_of_lost() const {
  Fence greatest = 0;
  for (const auto& member : all_) {
    const auto identity = member->identity();
    if (identity && identity->fence < kGreatFence) greatest = std::max(greatest, identity->fence);
  }
  return greatest;
}

// By the member whose clock the cutoff names, which may have stepped back. Nothing: it has passed.
std::optional<milliseconds> MirroredStore::time_left(const StoreNow& cutoff) const {
  for (const auto& member : all_) {
    const auto now = member->at_most();
    const auto identity = member->identity();
    if (!now || !identity || clock_name(identity->token, now->clock) != cutoff.clock) continue;
    if (now->time > cutoff.time) return std::nullopt;
    return std::min(saturating_difference(cutoff.time, now->time), call_limit_);
  }
  return std::nullopt;
}

// Members to claim. Once this process pings, only those with a ping of its own that is younger than
// the window: a hold without a ping can be taken over by no process (R7), and one with an older
// ping protects nothing (M5).
std::vector<MirroredStore::Candidate> MirroredStore::candidates(
    const std::vector<MemberBasis>& bases, const Claim& claim, milliseconds left) const {
  std::vector<Candidate> chosen;
  const bool pings = std::any_of(all_.begin(), all_.end(), [&](const auto& member) {
    return member->last_ping(claim.process).has_value();
  });
  const SteadyTime steady_now = clock_->steady_now();
  // A claim that states no window is that of a program of its own.
  const milliseconds oldest =
      claim.takeover_after > milliseconds{0} ? claim.takeover_after : kWindowMost;
  for (const auto& member : all_) {
    const auto identity = member->identity();
    const auto now = member->at_most();
    if (!identity || !now) continue;
    const auto basis = std::find_if(bases.begin(), bases.end(), [&](const MemberBasis& one) {
      return one.member == identity->token;
    });
    const auto ping = member->last_ping(claim.process);
    const bool pinged = ping && ping->member == identity->token && steady_now - ping->sent < oldest;
    if (basis == bases.end() || (pings && !pinged)) continue;
    Candidate candidate{member, claim, basis->basis, *identity};
    candidate.claim.cutoff = {saturating_sum(now->time, left), now->clock, now->steady,
                              now->unrelated};
    chosen.push_back(std::move(candidate));
  }
  check_window(claim);
  return chosen;
}

MemberBasis MirroredStore::basis_on(const Candidate& one) { return {one.life->token, one.basis}; }

// As long as R8 keeps a claim pending: clocks of stores may be half a minute behind and ahead (R9).
std::chrono::nanoseconds MirroredStore::longest_under_way() const {
  return 3 * call_limit_ + std::chrono::minutes{1};
}

// A job must own no member: its thread belongs to the member, and would destroy and join itself.
void MirroredStore::send(std::string_view name, const std::vector<Candidate>& to,
                         Replies<ClaimAnswer>& replies, const CallRules& rules) {
  MemberList asked;
  std::vector<std::pair<ClaimBasis, Claim>> claims(all_.size());
  const SteadyTime until = clock_->steady_now() + longest_under_way();
  for (const Candidate& one : to) {
    asked.push_back(one.member);
    one.member->note_under_way(one.claim, until);
    claims[one.member->place.number] = {one.basis, one.claim};
  }
  const auto sent =
      ask_those<ClaimAnswer>(asked, rules, [lock = std::string(name), claims](Member& member) {
        const auto& [basis, claim] = claims[member.place.number];
        return ClaimAnswer{member.store->claim(lock, basis, claim)};
      });
  for (const Candidate& one : to) {
    const auto& member = one.member;
    const std::size_t number = member->place.number;
    replies[number] = sent[number];
    auto& identity = replies[number].identity;
    // It granted the claim before it came back without its data, or after that: who knows.
    if (identity && one.life && identity->token != one.life->token) identity.reset();
    if (sent[number].answer || !perhaps_granted(sent[number])) {
      member->forget_under_way(one.claim, until);
    }
  }
  // Those that were asked before, too.
  forget_those_of_before(replies);
}

// At least a majority to be claimed, or none. Those that did not answer their last write come last,
// and those that have refused a claim from what they still show.
std::vector<MirroredStore::Candidate> MirroredStore::to_claim(std::string_view name,
                                                              const std::vector<MemberBasis>& bases,
                                                              const Claim& claim) const {
  const auto left = time_left(claim.cutoff);
  if (!left) return {};
  std::vector<Candidate> to = candidates(bases, claim, *left);
  if (to.size() < majority()) return {};
  std::stable_partition(to.begin(), to.end(), [&](const Candidate& one) {
    return one.member->answers(CallKind::write) && !refused_.contains(name, basis_on(one));
  });
  return to;
}

std::optional<LockRecord> MirroredStore::claim_from(std::string_view name,
                                                    const std::vector<MemberBasis>& bases,
                                                    const Claim& claim) {
  check_not_identity(name);
  return claim_until(clock_->steady_now() + call_limit_, name, bases, claim);
}

// The first member is asked alone. So of contenders that claim at once, one alone asks the others.
std::optional<LockRecord> MirroredStore::claim_until(SteadyTime until, std::string_view name,
                                                     const std::vector<MemberBasis>& bases,
                                                     const Claim& claim) {
  const Token set = this->set();
  CallRules rules = kClaim.ending(until);
  const std::vector<Candidate> to = to_claim(name, bases, claim);
  if (to.empty()) return std::nullopt;
  Replies<ClaimAnswer> replies(all_.size());
  send(name, {to.front()}, replies, rules);
  const Reply<ClaimAnswer>& first = replies[to.front().member->place.number];
  if (first.answer && !first.answer->granted) {
    refused_.note(name, basis_on(to.front()));
    return std::nullopt;
  }
  if (first.answer) ++rules.answered;
  send(name, {to.begin() + 1, to.end()}, replies, rules);
  return settled(name, claim, {set, until}, replies);
}

// Whether who grants a claim from this hold within a call limit of its release is known without a
// look. A member of before needs longer to come between (M6).
bool MirroredStore::lives_are_known(const FreedHold& freed,
                                    const std::vector<Candidate>& to) const {
  if (clock_->steady_now() - freed.asked > call_limit_ / 2) return false;
  const std::vector<Token>& granted = freed.members;
  return std::all_of(to.begin(), to.end(), [&](const Candidate& one) {
    return std::find(granted.begin(), granted.end(), one.life->token) != granted.end();
  });
}

// All members have freed the hold for this process, and for no other. So no two contenders ask all
// of them at once.
std::optional<LockRecord> MirroredStore::claim_from_own_release(std::string_view name,
                                                                const FromFree& basis,
                                                                const FreedHold& freed,
                                                                const Claim& claim) {
  const SteadyTime until = clock_->steady_now() + call_limit_;
  const Token set = this->set();
  std::vector<MemberBasis> bases;
  for (const auto& member : all_) {
    if (const auto identity = member->identity()) bases.push_back({identity->token, basis});
  }
  const std::vector<Candidate> to = to_claim(name, bases, claim);
  if (to.empty()) return std::nullopt;
  Replies<ClaimAnswer> replies(all_.size());
  const bool known = lives_are_known(freed, to);
  send(name, to, replies, (known ? kClaimOfOwn : kClaim).ending(until));
  if (known && clock_->steady_now() - freed.asked <= call_limit_) {
    for (const Candidate& one : to) replies[one.member->place.number].identity = one.life;
    forget_those_of_before(replies);
  }
  return settled(name, claim, {set, until}, replies);
}

// The hold; or nothing, if the members have refused it.
std::optional<LockRecord> MirroredStore::settled(std::string_view name, const Claim& claim,
                                                 const Sent& sent,
                                                 const Replies<ClaimAnswer>& replies) {
  const std::vector<Vote> votes = votes_of(replies, sent.set, claim.fence);
  const Settled outcome = settle_claim(votes);
  if (outcome == Settled::held) {
    const LockRecord hold = held_record(replies, votes);
    freed_.note_granted(name, hold);
    return hold;
  }
  const bool was_asked = std::any_of(replies.begin(), replies.end(), [](const auto& reply) {
    return reply.answer || reply.failure;
  });
  if (!was_asked) {
    throw Error(
        Errc::not_applied,
        "the members of the mirrored store answered so late that no time was left to claim");
  }
  // The claim may turn out to be held, so it is not undone.
  if (outcome == Settled::unknown) throw unknown_outcome(replies);
  const bool gone = undo(name, claim.ts, sent.until, replies);
  const bool refused = std::any_of(replies.begin(), replies.end(), [](const auto& reply) {
    return reply.answer && !reply.answer->granted;
  });
  if (!gone && !refused) {
    throw Error(Errc::outcome_unknown,
                "too few members of the mirrored store granted a claim, and not all of them could "
                "be told to free it");
  }
  if (!gone) left_.note(claim.ts);
  if (!refused) throw_failure_in(replies);
  return std::nullopt;
}

// Frees the claim where it may have been granted. True if it is gone from each of these members.
bool MirroredStore::undo(std::string_view name, const Token& ts, SteadyTime until,
                         const Replies<ClaimAnswer>& replies) {
  MemberList asked;
  for (const auto& member : all_) {
    if (perhaps_granted(replies[member->place.number])) asked.push_back(member);
  }
  // Of a member that does not write no answer is waited for.
  MemberList now = asked;
  const bool in_time = time_for(kUndo.ending(until)).has_value();
  if (!in_time) std::erase_if(now, [](const auto& one) { return one->answers(CallKind::write); });
  const auto freed = ask_those<ReleaseResult>(
      now, in_time ? kUndo.ending(until) : kUndo,
      [lock = std::string(name), ts](Member& member) { return member.store->release(lock, ts); });
  return std::all_of(asked.begin(), asked.end(), [&](const auto& member) {
    return is_gone(replies[member->place.number], freed[member->place.number]);
  });
}

// The hold that such a claim starts from, if it is the process's own and all members have freed it.
// Not long ago: where a rival has the lock by now, the claim would leave its fence on members that
// the rival did not reach, and be refused.
std::optional<FreedHold> MirroredStore::freed_by_all(std::string_view name,
                                                     const ClaimBasis& basis) {
  const auto* from = std::get_if<FromFree>(&basis);
  if (from == nullptr || !from->ts) return std::nullopt;
  const auto freed = freed_.take(name, *from->ts);
  const bool recent = freed && clock_->steady_now() - freed->asked <= call_limit_;
  return recent ? freed : std::nullopt;
}

// A claim from a malformed document is refused (R14).
Bases MirroredStore::look_for(std::string_view name, const ClaimBasis& basis) {
  try {
    std::vector<Inspection> seen = looks(name, Freshness::fresh);
    const std::string in_doubt = fence_in_doubt(name, seen);
    if (!in_doubt.empty()) throw Error(Errc::not_applied, in_doubt);
    leave_out_great_fences(seen, majority());
    return bases_in(seen, basis, majority());
  } catch (const Error& error) {
    if (error.errc() != Errc::bad_record) throw;
    return {};
  }
}

// At least that of the claim, which only the members that it starts from may refuse. On another one
// a claim that lost may have left a greater one, and it is to grant this hold, too.
std::optional<Fence> MirroredStore::fence_of_claim(const ClaimBasis& basis, const Claim& claim,
                                                   const Bases& found) const {
  if (claim.fence != 0 && may_keep_fence(basis, claim)) return claim.fence;
  if (claim.fence != 0 && claim.fence <= found.of_basis) return std::nullopt;
  const Fence greatest = std::max(found.greatest, fence_of_lost());
  if (greatest >= first_fence_most(claim.fences)) return std::nullopt;
  return std::max(claim.fence, greatest + 1);
}

// A member where the basis does not hold is not asked by it. It would refuse now, but a late
// release may make the basis true there, and then the same request may come again.
std::optional<LockRecord> MirroredStore::claim(std::string_view name, const ClaimBasis& basis,
                                               const Claim& claim) {
  check_fences(claim);
  check_not_identity(name);
  const SteadyTime until = clock_->steady_now() + call_limit_;
  Claim fenced = claim;
  const auto own = claim.fence != 0 ? freed_by_all(name, basis) : std::nullopt;
  if (own) {
    fenced.fence = std::max(claim.fence, fence_of_lost() + 1);
    return claim_from_own_release(name, std::get<FromFree>(basis), *own, fenced);
  }
  const Bases found = look_for(name, basis);
  const auto fence = fence_of_claim(basis, claim, found);
  if (!fence) return std::nullopt;
  fenced.fence = *fence;
  return claim_until(until, name, found.bases, fenced);
}

}  // namespace distlock::mirrored
