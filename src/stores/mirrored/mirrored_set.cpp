#include <algorithm>
#include <cstring>
#include <set>

#include "stores/mirrored/mirrored_store.h"

// Which members are of one set, and the claims by which they become one (M6, M7).
namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr CallRules kIdentity{.effect = Effect::reads, .with_identity = false};
constexpr CallRules kGiveBack{.effect = Effect::writes, .with_identity = false};

}  // namespace

Token MirroredStore::new_token() const {
  Token token;
  const std::uint64_t first = options_.random();
  const std::uint64_t second = options_.random();
  std::memcpy(token.bytes.data(), &first, 8);
  std::memcpy(token.bytes.data() + 8, &second, 4);
  return token;
}

Token MirroredStore::set() {
  {
    const Guard lock(set_mutex_);
    if (set_) return *set_;
  }
  const auto seen =
      ask_all<Inspection>(kIdentity, [](Member& member) { return member.look_at_identity(); });
  if (const Member* twice = given_twice()) refuse_twice(*twice);
  const auto known = set_of_majority(seen);
  if (!known) check_order(seen);
  const Token set = known ? *known : found(seen);
  const Guard lock(set_mutex_);
  // No second set can have a majority: it would share a member with this one.
  if (!set_) set_ = set;
  return *set_;
}

std::optional<Token> MirroredStore::set_of_majority(const Replies<Inspection>& seen) const {
  std::map<Token, std::size_t> members;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].answer) continue;
    const auto identity = identity_in(*seen[i].answer, all_[i]->place);
    if (identity && ++members[identity->set] >= majority()) return identity->set;
  }
  return std::nullopt;
}

void MirroredStore::check_order(const Replies<Inspection>& seen) const {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].answer || !has_identity(*seen[i].answer) || all_[i]->identity()) continue;
    throw Error(Errc::invalid_argument,
                all_[i]->store->description() + " is " + seen[i].answer->lock->who +
                    " of a mirrored store: name the same members in the same order everywhere");
  }
}

// Two members with one token are one store, at whatever places they were named.
const Member* MirroredStore::given_twice() const {
  std::set<Token> tokens;
  for (const auto& member : all_) {
    const auto token = member->token();
    if (token && !tokens.insert(*token).second) return member.get();
  }
  return nullptr;
}

void MirroredStore::refuse_twice(const Member& member) {
  throw Error(Errc::invalid_argument, "two members of a mirrored store are one store: " +
                                          member.store->description() + "; name each of them once");
}

// All members must have answered, and have no identity.
void MirroredStore::check_empty(const Replies<Inspection>& seen) {
  const bool empty = std::all_of(seen.begin(), seen.end(), [](const auto& reply) {
    return reply.answer && !has_identity(*reply.answer);
  });
  if (empty) return;
  throw Error(Errc::not_applied,
              "too few members of the mirrored store are of one set: a majority must answer as "
              "such, or all must answer and be empty");
}

// A claim of each member's identity. Each member's clock is known.
std::vector<MirroredStore::Candidate> MirroredStore::identities_of_empty(
    const Replies<Inspection>& seen) const {
  const Token set = new_token();
  std::vector<Candidate> claims;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    StoreNow cutoff = all_[i]->at_most().value();
    cutoff.time += call_limit_;
    const Claim claim = identity_claim(new_token(), set, all_[i]->place, cutoff);
    const bool freed = seen[i].answer->lock.has_value();
    claims.push_back({all_[i], claim, freed ? ClaimBasis{FromFree{}} : ClaimBasis{FromAbsent{}}});
  }
  return claims;
}

void MirroredStore::check_without_locks() {
  const auto listings =
      ask_all<Listing>(kIdentity, [](Member& member) { return member.list(); });
  for (const auto& listing : listings) {
    const bool only_ours =
        listing.answer && std::all_of(listing.answer->locks.begin(), listing.answer->locks.end(),
                                      [](const auto& lock) { return lock.id == kIdentityName; });
    if (!only_ours) {
      throw Error(Errc::not_applied,
                  "a store with locks of its own cannot become a member of a mirrored store: take "
                  "an empty one");
    }
  }
}

// Makes a set of members that are all empty, so no hold exists. The process that wins the first
// member's identity claims the others' too. A second founder stops at the first member.
Token MirroredStore::found(const Replies<Inspection>& seen) {
  check_empty(seen);
  check_without_locks();
  const std::vector<Candidate> to = identities_of_empty(seen);
  Replies<ClaimAnswer> replies(all_.size());
  send(kIdentityName, {to.front()}, replies);
  const bool first = replies.front().answer && replies.front().answer->granted;
  if (first) send(kIdentityName, {to.begin() + 1, to.end()}, replies);
  const auto after =
      ask_all<Inspection>(kIdentity, [](Member& member) { return member.look_at_identity(); });
  const Member* twice = given_twice();
  const auto founded = set_of_majority(after);
  if (founded && twice == nullptr) return *founded;
  for (const Candidate& one : to) {
    if (!perhaps_granted(replies[one.member->place.number])) continue;
    ask_those<ReleaseResult>({one.member}, kGiveBack, [ts = one.claim.ts](Member& member) {
      return member.store->release(kIdentityName, ts);
    });
  }
  if (twice != nullptr) refuse_twice(*twice);
  throw Error(Errc::not_applied,
              "the members of the mirrored store could not be made a set; try again");
}

}  // namespace distlock::mirrored
