#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "in_milliseconds.h"
#include "saturating.h"
#include "stores/mirrored/mirrored_store.h"

// The claims by which empty members become a set (M6, M7).
namespace distlock::mirrored {
namespace {

constexpr CallRules kListBefore{.with_identity = false};
constexpr CallRules kGiveBack{
    .kind = CallKind::write, .with_identity = false, .for_majority = false};

bool has_no_lock(const Listing& listing) {
  return std::all_of(listing.locks.begin(), listing.locks.end(),
                     [](const auto& lock) { return lock.id == kIdentityName; });
}

bool is_unused(const Listing& listing) { return has_no_lock(listing) && listing.pings.empty(); }

std::size_t granted_at_least(const Replies<ClaimAnswer>& replies) {
  const auto granted = [](const auto& reply) { return reply.answer && reply.answer->granted; };
  return static_cast<std::size_t>(std::count_if(replies.begin(), replies.end(), granted));
}

std::size_t granted_at_most(const Replies<ClaimAnswer>& replies) {
  return static_cast<std::size_t>(std::count_if(replies.begin(), replies.end(), perhaps_granted));
}

}  // namespace

// A claim of a member's identity, from what was seen. The member's clock is known.
MirroredStore::Candidate MirroredStore::identity_to_claim(const std::shared_ptr<Member>& member,
                                                          const Inspection& seen,
                                                          const SetTerms& terms) const {
  StoreNow cutoff = member->at_most().value();
  cutoff.time = saturating_sum(cutoff.time, call_limit_);
  return {member, identity_claim(new_token(), terms, member->place, cutoff), basis_of(seen)};
}

std::vector<MirroredStore::Candidate> MirroredStore::identities_to_claim(
    const Replies<Inspection>& seen, const SetTerms& terms) const {
  std::vector<Candidate> claims;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    claims.push_back(identity_to_claim(all_[i], *seen[i].answer, terms));
  }
  return claims;
}

bool MirroredStore::each_listing(const std::function<bool(const Listing&)>& is_so,
                                 const Member** first_other) {
  const auto listings = ask_all<Listing>(kListBefore, [](Member& member) { return member.list(); });
  bool all = true;
  for (std::size_t i = 0; i < listings.size(); ++i) {
    const bool so = listings[i].answer && is_so(*listings[i].answer);
    const bool is_other = listings[i].answer && !so;
    if (is_other && first_other != nullptr && all) *first_other = all_[i].get();
    all = all && so;
  }
  return all;
}

// A new store may be slow to make its first collection. A member that got no identity now would be
// kept out for the longest window (M6).
void MirroredStore::claim_the_others(const std::vector<Candidate>& to,
                                     Replies<ClaimAnswer>& replies) {
  constexpr int kAttempts = 2;
  std::vector<Candidate> left(to.begin() + 1, to.end());
  for (int i = 0; i < kAttempts && !left.empty(); ++i) {
    send(kIdentityName, left, replies);
    std::erase_if(left, [&](const Candidate& one) {
      return replies[one.member->place.number].answer.has_value();
    });
  }
}

// Makes a set of members that are all empty, so no hold exists. The process that wins the first
// member's identity claims the others' too. A second founder stops at the first member.
std::optional<Token> MirroredStore::claim_identities(const Replies<Inspection>& seen,
                                                     std::optional<Error>& denied) {
  const SetTerms terms{new_token(), options_.longest_takeover, {}};
  const std::vector<Candidate> to = identities_to_claim(seen, terms);
  Replies<ClaimAnswer> replies(all_.size());
  send(kIdentityName, {to.front()}, replies);
  const bool first = replies.front().answer && replies.front().answer->granted;
  if (first) claim_the_others(to, replies);
  denied = denial_in(replies, to.front().member->place.number);
  // Fewer than a majority are left that can have granted it.
  if (denied) give_back(to, replies);
  return founded_by(terms.set, to, replies);
}

// The set of a majority, or nothing. The identities stay unless another set has the majority, or
// two members are one store. This founder may have looked too late. Another process may have seen a
// majority, and hold a lock. Beside another set they would keep their members out. A member whose
// identity is given back lacks one, and comes back as if it had been emptied.
std::optional<Token> MirroredStore::founded_by(const Token& own, const std::vector<Candidate>& to,
                                               const Replies<ClaimAnswer>& replies) {
  const auto after = look_at_identities();
  if (const Member* twice = given_twice()) {
    give_back(to, replies);
    refuse_twice(*twice);
  }
  const auto founded = set_of_majority(after);
  if (founded && *founded != own) {
    give_back(to, replies);
    check_order_beside(*founded, after);
  }
  return founded;
}

void MirroredStore::give_back(const std::vector<Candidate>& to,
                              const Replies<ClaimAnswer>& replies) {
  for (const Candidate& one : to) {
    // Also of one that refused: perhaps a claim whose answer got lost was granted before.
    const auto& reply = replies[one.member->place.number];
    if (!reply.answer && !reply.failure) continue;
    free_identity(one.member, one.claim.ts);
  }
}

void MirroredStore::free_identity(const std::shared_ptr<Member>& member, const Token& token) {
  ask_those<ReleaseResult>({member}, kGiveBack, [token](Member& one) {
    return one.store->release(kIdentityName, token);
  });
}

// Another process, or another thread of this one, may be about to claim the other identities.
std::optional<Token> MirroredStore::set_of_another_founder() {
  constexpr std::chrono::milliseconds kPauseLeast{1};
  for (auto pause = kPauseLeast; pause < call_limit_ / 8; pause *= 2) {
    clock_->wait_until(clock_->steady_now() + pause, {});
    const auto seen = look_at_identities();
    const auto founded = set_of_majority(seen);
    if (!founded) continue;
    check_no_store_is_twice();
    check_order_beside(*founded, seen);
    return founded;
  }
  return std::nullopt;
}

// A founder that died has left its set to a minority of the members. No process has pinged there,
// no lock was granted, and nobody is kept out: no set with a majority is like that. So a later
// process founds another set with them. It is not the same one: that may have a majority after all,
// with a store that this process does not name (M7). A hold or a ping of that majority is on the
// minority, too, and shows there, or does not count any more.
std::optional<Token> MirroredStore::complete_founding(const Replies<Inspection>& seen,
                                                      std::optional<Error>& denied) {
  std::optional<SetTerms> terms;
  std::vector<std::pair<std::shared_ptr<Member>, Token>> of_other_sets;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (marker_in(*seen[i].answer, all_[i]->place)) return std::nullopt;
    const auto identity = identity_in(*seen[i].answer, all_[i]->place);
    if (!identity) continue;
    const bool was_used = !identity->returns.empty();
    if (was_used) return std::nullopt;
    if (!terms) terms = {identity->set, identity->longest_takeover, {}};
    if (terms->set != identity->set) of_other_sets.emplace_back(all_[i], identity->token);
  }
  if (!terms || !each_listing(is_unused)) return std::nullopt;
  check_founders_have_ended(seen);
  if (!of_other_sets.empty()) take_apart(of_other_sets);
  return found_in_place_of(*terms, seen, denied);
}

// Parts of two sets together may be a majority. A set of all of them would be used before the last
// look for holds of the old sets. So one part is left, and a later call founds a set in its place.
void MirroredStore::take_apart(
    const std::vector<std::pair<std::shared_ptr<Member>, Token>>& parts) {
  for (const auto& [member, token] : parts) free_identity(member, token);
  throw Error(Errc::not_applied,
              "the members of the mirrored store were of several half-made sets, and one of these "
              "is left: try again");
}

// Each identity is younger than the cutoffs of its founder's claims are. So a founder's claims come
// no more when the identity is so old. A clock that stepped back counts as well as one that ran.
void MirroredStore::check_founders_have_ended(const Replies<Inspection>& seen) const {
  const std::chrono::milliseconds at_work = 2 * call_limit_;
  for (const auto& reply : seen) {
    const Inspection& look = *reply.answer;
    if (!has_identity(look) || !look.lock->when) continue;
    const auto [earlier, later] = std::minmax({*look.lock->when, look.now->time});
    const auto age = saturating_difference(later, earlier);
    if (age >= at_work) continue;
    throw Error(Errc::not_applied,
                "the set of the mirrored store is half made, and another process may be at it: try "
                "again in " +
                    in_milliseconds(at_work - age));
  }
}

// Claims the minority first, each from exactly the identity that was seen. Where the new set can
// get no majority, it leaves no member of it behind: two sets would keep each other's members out.
std::optional<Token> MirroredStore::found_in_place_of(const SetTerms& before,
                                                      const Replies<Inspection>& seen,
                                                      std::optional<Error>& denied) {
  const SetTerms terms{new_token(), before.longest_takeover, {}};
  std::vector<Candidate> minority = identities_to_claim(seen, terms);
  const auto end = std::stable_partition(minority.begin(), minority.end(), [](const auto& one) {
    return std::holds_alternative<FromHold>(one.basis);
  });
  const std::vector<Candidate> others(end, minority.end());
  minority.erase(end, minority.end());
  Replies<ClaimAnswer> replies(all_.size());
  // Of several processes one gets the first member. The others leave the rest alone.
  send(kIdentityName, {minority.front()}, replies);
  const bool first = granted_at_least(replies) == 1;
  if (first) send(kIdentityName, {minority.begin() + 1, minority.end()}, replies);
  const bool goes_on = granted_at_least(replies) == minority.size() && each_listing(is_unused);
  if (goes_on) send(kIdentityName, others, replies);
  denied = denial_in(replies, minority.front().member->place.number);
  if (granted_at_most(replies) < majority()) {
    give_back(others, replies);
    give_back_to(before, minority);
  }
  if (!goes_on) return set_of_another_founder();
  minority.insert(minority.end(), others.begin(), others.end());
  return founded_by(terms.set, minority, replies);
}

// The new set cannot get a majority, so its members are claimed for the old set again. That one may
// have its majority by now, or get it with them. They have kept their data, so they need not wait
// as members that were emptied.
void MirroredStore::give_back_to(const SetTerms& before, const std::vector<Candidate>& minority) {
  const auto seen = look_at_identities();
  std::vector<Candidate> to;
  for (const Candidate& one : minority) {
    const auto& look = seen[one.member->place.number].answer;
    const bool has_it = look && has_identity(*look) && look->lock->ts == one.claim.ts;
    if (has_it) to.push_back(identity_to_claim(one.member, *look, before));
  }
  Replies<ClaimAnswer> replies(all_.size());
  send(kIdentityName, to, replies, kGiveBack);
}

Token MirroredStore::found(const Replies<Inspection>& seen) {
  const bool all_answer = std::all_of(seen.begin(), seen.end(),
                                      [](const auto& reply) { return reply.answer.has_value(); });
  if (!all_answer) refuse_no_set(seen);
  // A mark of a set that is gone is nobody's (M6).
  const bool empty = all_are_empty(seen);
  const Member* used = nullptr;
  const bool without_locks = empty && each_listing(has_no_lock, &used);
  if (options_.opening == OpeningRule::to_look) refuse_to_found(seen, used);
  std::optional<Token> set;
  std::optional<Error> denied;
  if (without_locks) set = claim_identities(seen, denied);
  if (!set) set = set_of_another_founder();
  if (!set && !empty) set = complete_founding(seen, denied);
  if (set) return *set;
  if (denied) throw Error(*denied);
  if (used != nullptr) refuse_used(*used);
  refuse_no_set(look_at_identities());
}

}  // namespace distlock::mirrored
