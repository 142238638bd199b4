#include <algorithm>
#include <limits>
#include <string>

#include "log.h"
#include "stores/mirrored/mirrored_store.h"
#include "stores/mirrored/returning.h"

// How a member that is new, or lost its data, comes back to a set whose majority counts (M6):
//
//   mark     the member           it is kept out from now on; each process counts by its own clock
//   wait     the longest window   what counted on the lost data is over
//   fences   the other members    the greatest that Q of them know: no hold that is over had more
//   back     the member           a new identity in the place of exactly that mark
//
// Each mend() takes one of these steps on one member, so that it ends within one call's limit.
namespace distlock::mirrored {
namespace {

constexpr CallRules kList{};
constexpr CallRules kMend{.effect = Effect::writes, .with_identity = false};

Error cannot_return(const Member& member, const std::string& why) {
  return {Errc::not_applied, member.store->description() + " cannot be taken back: " + why};
}

StoreNow cutoff_on(const Member& member, std::chrono::milliseconds limit) {
  const auto now = member.at_most();
  if (!now) throw cannot_return(member, "it has not told its time");
  return {now->time + limit, now->clock, now->steady, now->unrelated};
}

Fence next_fence(const Member& member, Fence above) {
  if (above < std::numeric_limits<Fence>::max() - 1) return above + 1;
  throw cannot_return(member, "a lock of the other members has the greatest fence there is");
}

}  // namespace

bool MirroredStore::incomplete() {
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& member) { return member->lack().has_value(); });
}

// Of the set, if a majority of the members says that it is of it.
std::optional<SetTerms> MirroredStore::terms(const Replies<Inspection>& seen) const {
  const auto set = set_of_majority(seen);
  if (!set) return std::nullopt;
  SetTerms terms{*set, {}};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].answer) continue;
    const auto identity = identity_in(*seen[i].answer, all_[i]->place);
    if (!identity || identity->set != *set) continue;
    terms.longest_takeover = std::max(terms.longest_takeover, identity->longest_takeover);
  }
  return terms;
}

void MirroredStore::mend() {
  const auto set = known_set();
  if (!set || !incomplete()) return;
  const auto seen = look_at_identities();
  const auto terms = this->terms(seen);
  if (!terms || terms->set != *set) return;
  const std::size_t first = mended_++;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto& member = all_[(first + i) % all_.size()];
    const auto& look = seen[member->place.number].answer;
    if (!look || !lacks_identity(*look, member->place)) continue;
    if (mend_one(member, *look, *terms)) return;
  }
}

// Whether there was anything to do.
bool MirroredStore::mend_one(const std::shared_ptr<Member>& member, const Inspection& seen,
                             const SetTerms& terms) {
  const auto marker = marker_in(seen, member->place);
  const auto lack = member->lack();
  if (!lack) return false;
  const SteadyTime now = clock_->steady_now();
  if (!marker) {
    // A founder of the set may be about to claim its identity.
    const bool long_enough = !lack->marker && now - lack->since > call_limit_;
    if (long_enough) mark(member, basis_of(seen), terms);
    return long_enough;
  }
  const bool known = lack->marker && lack->marker->token == marker->token;
  if (!known || marker->set != terms.set) return false;
  if (member->tells_first("kept out " + to_hex(marker->token))) {
    log::member_kept_out(member->store->description(), terms.longest_takeover);
  }
  const SteadyTime over = lack->since + terms.longest_takeover;
  if (now < over) return false;
  if (lack->fence) {
    const Fence above = std::max(*lack->fence, seen.lock->fence);
    take_back(member, basis_of(seen), terms, above);
  } else if (const auto fence = fence_for(*member, terms, over)) {
    member->note_fence(marker->token, *fence);
  }
  return true;
}

void MirroredStore::tell_of_locks(Member& member) {
  if (member.tells_first("carries locks")) log::member_carries_locks(member.store->description());
}

// Of a member that will not come back by itself, though it answers.
void MirroredStore::tell_if_strange(Member& member, const Token& set) {
  const auto token = member.token();
  const auto identity = member.identity();
  const auto lack = member.lack();
  const bool kept_out_here = lack && (!lack->marker || lack->marker->set == set);
  const bool of_the_set = identity && identity->set == set;
  if (!token || of_the_set || kept_out_here) return;
  if (!member.tells_first("strange " + to_hex(*token))) return;
  const bool at_this_place = identity || lack;
  if (at_this_place) return log::member_of_another_set(member.store->description());
  log::member_of_another_place(member.store->description());
}

// Two processes that mark at once: one mark remains, and both see which.
void MirroredStore::mark(const std::shared_ptr<Member>& member, const ClaimBasis& basis,
                         const SetTerms& terms) {
  const Token token = new_token();
  const auto replies =
      ask_those<bool>({member}, kMend, [basis, terms, token, limit = call_limit_](Member& one) {
        if (carries_locks(one.list())) return false;
        const StoreNow cutoff = cutoff_on(one, limit);
        one.store->claim(kIdentityName, basis, marker_claim(token, terms, one.place, cutoff));
        return true;
      });
  if (replies[member->place.number].answer == false) tell_of_locks(*member);
}

// The greatest fence that Q other members know. A hold that counted on the lost data was granted by
// Q - 1 of the other 2Q - 2. So one of any Q knows its fence. `pinged_since`: a listing counts only
// if it shows a ping that was sent since then. The server was no deposed one then.
std::optional<Fence> MirroredStore::fence_for(Member& returning, const SetTerms& terms,
                                              std::optional<SteadyTime> pinged_since) {
  const auto replies = ask_all<Listing>(kList, [](Member& member) { return member.list(); });
  const auto& own = replies[returning.place.number].answer;
  if (own && carries_locks(*own)) tell_of_locks(returning);
  if (!own || carries_locks(*own)) return std::nullopt;
  std::size_t known = 0;
  Fence greatest = 0;
  for (const auto& member : all_) {
    const auto& reply = replies[member->place.number];
    if (member.get() == &returning || !counts(reply, terms.set)) continue;
    const auto fence = greatest_fence(*reply.answer);
    if (!fence || (pinged_since && !member->is_current(*reply.answer, *pinged_since))) continue;
    ++known;
    greatest = std::max({greatest, *fence, reply.identity->fence});
  }
  if (known < majority()) return std::nullopt;
  return greatest;
}

// Exactly from what was seen: a member that was emptied again has another mark.
bool MirroredStore::take_back(const std::shared_ptr<Member>& member, const ClaimBasis& basis,
                              const SetTerms& terms, Fence above) {
  Claim claim = identity_claim(new_token(), terms, member->place, cutoff_on(*member, call_limit_));
  claim.fence = next_fence(*member, above);
  const auto replies = ask_those<ClaimAnswer>({member}, kMend, [basis, claim](Member& one) {
    return ClaimAnswer{one.store->claim(kIdentityName, basis, claim)};
  });
  const auto& reply = replies[member->place.number];
  if (reply.failure) throw Error(*reply.failure);
  if (!reply.answer->granted) return false;
  log::member_is_back(member->store->description());
  return true;
}

bool MirroredStore::readmit(std::size_t number) {
  if (number >= all_.size()) {
    throw Error(Errc::invalid_argument, "a mirrored store of " + std::to_string(all_.size()) +
                                            " members has no member " + std::to_string(number + 1));
  }
  const Token set = this->set();
  const auto& member = all_[number];
  const auto seen = look_at_identities();
  const auto terms = this->terms(seen);
  if (!terms || terms->set != set) refuse_no_set();
  if (!seen[number].answer) throw Error(*seen[number].failure);
  const Inspection& look = *seen[number].answer;
  const auto identity = identity_in(look, member->place);
  if (identity && identity->set == set) return false;
  const auto marker = marker_in(look, member->place);
  if (!lacks_identity(look, member->place) || (marker && marker->set != set)) {
    throw Error(Errc::invalid_argument, member->store->description() + " is " + look.lock->who +
                                            " of another mirrored store: empty it first");
  }
  const auto fence = fence_for(*member, *terms, std::nullopt);
  if (!fence) {
    throw cannot_return(*member,
                        "a majority of others must show all their locks, and it must "
                        "carry none itself: empty it");
  }
  const Fence above = std::max(*fence, look.lock ? look.lock->fence : 0);
  if (take_back(member, basis_of(look), *terms, above)) return true;
  throw cannot_return(*member, "somebody else changed it meanwhile; look again");
}

}  // namespace distlock::mirrored
