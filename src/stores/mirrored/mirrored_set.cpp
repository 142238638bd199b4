#include <algorithm>
#include <cstring>
#include <set>

#include "local_span.h"
#include "stores/mirrored/agreement.h"
#include "stores/mirrored/member_states.h"
#include "stores/mirrored/mirrored_store.h"

// Which members are of one set, and the claims by which they become one (M6, M7).
namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr CallRules kIdentity{.with_identity = false};
constexpr CallRules kGiveBack{
    .kind = CallKind::write, .with_identity = false, .for_majority = false};

bool has_no_lock(const Listing& listing) {
  return std::all_of(listing.locks.begin(), listing.locks.end(),
                     [](const auto& lock) { return lock.id == kIdentityName; });
}

}  // namespace

Token MirroredStore::new_token() const {
  Token token;
  const std::uint64_t first = options_.random();
  const std::uint64_t second = options_.random();
  std::memcpy(token.bytes.data(), &first, 8);
  std::memcpy(token.bytes.data() + 8, &second, 4);
  return token;
}

Replies<Inspection> MirroredStore::look_at_identities() {
  return ask_all<Inspection>(kIdentity, [](Member& member) { return member.look_at_identity(); });
}

std::optional<Token> MirroredStore::known_set() {
  const Guard lock(set_mutex_);
  return set_;
}

Token MirroredStore::set() {
  if (const auto set = known_set()) {
    check_not_gone(*set);
    return *set;
  }
  const auto seen = look_at_identities();
  if (const Member* twice = given_twice()) refuse_twice(*twice);
  const auto known = set_of_majority(seen);
  if (!known) check_order(seen);
  const Token set = known ? *known : found(seen);
  const std::chrono::milliseconds longest = longest_window_of(set);
  const Guard lock(set_mutex_);
  // No second set can have a majority: it would share a member with this one.
  if (!set_) set_ = set;
  longest_window_ = std::max(longest_window_, longest);
  return *set_;
}

bool MirroredStore::all_are_empty(const Replies<Inspection>& seen) const {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].answer || !lacks_identity(*seen[i].answer, all_[i]->place)) return false;
  }
  return true;
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
    if (!seen[i].answer) continue;
    const Inspection& look = *seen[i].answer;
    const Place& place = all_[i]->place;
    if (lacks_identity(look, place) || identity_in(look, place)) continue;
    throw Error(Errc::invalid_argument,
                all_[i]->store->description() + " is " + look.lock->who +
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

void MirroredStore::refuse_no_set() {
  throw Error(Errc::not_applied,
              "too few members of the mirrored store are of one set: a majority must answer as "
              "such, or all must answer and be empty");
}

// Claims of the members' identities, from what was seen. Each member's clock is known.
std::vector<MirroredStore::Candidate> MirroredStore::identities_to_claim(
    const Replies<Inspection>& seen, const SetTerms& terms) const {
  std::vector<Candidate> claims;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    StoreNow cutoff = all_[i]->at_most().value();
    cutoff.time += call_limit_;
    const Claim claim = identity_claim(new_token(), terms, all_[i]->place, cutoff);
    claims.push_back({all_[i], claim, basis_of(*seen[i].answer)});
  }
  return claims;
}

bool MirroredStore::each_listing(const std::function<bool(const Listing&)>& is_so) {
  const auto listings = ask_all<Listing>(kIdentity, [](Member& member) { return member.list(); });
  return std::all_of(listings.begin(), listings.end(),
                     [&](const auto& listing) { return listing.answer && is_so(*listing.answer); });
}

bool MirroredStore::without_locks() { return each_listing(has_no_lock); }

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
std::optional<Token> MirroredStore::claim_identities(const Replies<Inspection>& seen) {
  const std::vector<Candidate> to =
      identities_to_claim(seen, {new_token(), options_.longest_takeover, {}});
  Replies<ClaimAnswer> replies(all_.size());
  send(kIdentityName, {to.front()}, replies);
  const bool first = replies.front().answer && replies.front().answer->granted;
  if (first) claim_the_others(to, replies);
  return founded_by(to, replies);
}

// The set, or nothing. The identities stay in either case: who sees no majority of them now may
// have been asked too late, while another process has seen one, and has got a lock.
std::optional<Token> MirroredStore::founded_by(const std::vector<Candidate>& to,
                                               const Replies<ClaimAnswer>& replies) {
  const auto after = look_at_identities();
  if (const Member* twice = given_twice()) {
    give_back(to, replies);
    refuse_twice(*twice);
  }
  return set_of_majority(after);
}

void MirroredStore::give_back(const std::vector<Candidate>& to,
                              const Replies<ClaimAnswer>& replies) {
  for (const Candidate& one : to) {
    if (!perhaps_granted(replies[one.member->place.number])) continue;
    ask_those<ReleaseResult>({one.member}, kGiveBack, [ts = one.claim.ts](Member& member) {
      return member.store->release(kIdentityName, ts);
    });
  }
}

// Another process, or another thread of this one, may be about to claim the other identities.
std::optional<Token> MirroredStore::set_of_another_founder() {
  constexpr std::chrono::milliseconds kPauseLeast{1};
  for (auto pause = kPauseLeast; pause < call_limit_ / 8; pause *= 2) {
    clock_->wait_until(clock_->steady_now() + pause, {});
    if (const auto founded = set_of_majority(look_at_identities())) return founded;
  }
  return std::nullopt;
}

// A founder that died has left its set to a minority of the members. No process has pinged there,
// no lock was granted, and nobody is kept out: no set with a majority is like that. So a later
// process founds another set with them. It is not the same one: that may have a majority after all,
// with a store that this process does not name (M7). A hold or a ping of that majority is on the
// minority, too, and shows there, or does not count any more.
std::optional<Token> MirroredStore::complete_founding(const Replies<Inspection>& seen) {
  std::optional<SetTerms> terms;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (marker_in(*seen[i].answer, all_[i]->place)) return std::nullopt;
    const auto identity = identity_in(*seen[i].answer, all_[i]->place);
    if (!identity) continue;
    const bool was_used = !identity->returns.empty();
    if (was_used || (terms && terms->set != identity->set)) return std::nullopt;
    terms = {identity->set, identity->longest_takeover, {}};
  }
  const auto unused = [](const Listing& all) { return has_no_lock(all) && all.pings.empty(); };
  if (!terms || !each_listing(unused)) return std::nullopt;
  terms->set = new_token();
  std::vector<Candidate> to = identities_to_claim(seen, *terms);
  const auto end_of_minority = std::stable_partition(to.begin(), to.end(), [](const auto& one) {
    return std::holds_alternative<FromHold>(one.basis);
  });
  Replies<ClaimAnswer> replies(all_.size());
  send(kIdentityName, {to.begin(), end_of_minority}, replies);
  const bool all_granted = std::all_of(to.begin(), end_of_minority, [&](const Candidate& one) {
    const auto& answer = replies[one.member->place.number].answer;
    return answer && answer->granted;
  });
  if (!all_granted) return set_of_another_founder();
  if (!each_listing(unused)) return std::nullopt;
  send(kIdentityName, {end_of_minority, to.end()}, replies);
  return founded_by(to, replies);
}

Token MirroredStore::found(const Replies<Inspection>& seen) {
  const bool all_answer = std::all_of(seen.begin(), seen.end(),
                                      [](const auto& reply) { return reply.answer.has_value(); });
  if (!all_answer) refuse_no_set();
  // A mark of a set that is gone is nobody's (M6).
  const bool empty = all_are_empty(seen);
  const bool without_locks = empty && this->without_locks();
  std::optional<Token> set;
  if (without_locks) set = claim_identities(seen);
  if (!set) set = set_of_another_founder();
  if (!set && !empty) set = complete_founding(seen);
  if (set) return *set;
  if (!empty || without_locks) refuse_no_set();
  throw Error(Errc::not_applied,
              "a store with locks of its own cannot become a member of a mirrored store: take an "
              "empty one");
}

std::vector<MemberListing> MirroredStore::listings() {
  return without_great_fences(counting_listings(), majority());
}

std::vector<MemberState> MirroredStore::states() {
  const auto replies = ask_all<MemberLook>(kIdentity, [clock = clock_](Member& member) {
    MemberLook look{.identity = member.look_at_identity(), .listing = {}};
    const auto [listing, span] = timed(*clock, [&] { return member.list(); });
    look.listing = listing;
    const auto middle = span.sent + (span.received - span.sent) / 2;
    look.off = listing.now.time.time_since_epoch() - middle.time_since_epoch();
    return look;
  });
  std::vector<std::optional<MemberLook>> looks;
  for (const auto& reply : replies) looks.push_back(reply.answer);
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (!looks[i]) continue;
    const auto identity = identity_in(looks[i]->identity, all_[i]->place);
    looks[i]->of_before = identity && all_[i]->is_of_before(*identity);
  }
  std::vector<MemberState> states = states_of(looks);
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i].description = all_[i]->store->description();
    states[i].failure = replies[i].failure;
  }
  return states;
}

}  // namespace distlock::mirrored
