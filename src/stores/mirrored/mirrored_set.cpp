#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "local_span.h"
#include "stores/mirrored/agreement.h"
#include "stores/mirrored/member_states.h"
#include "stores/mirrored/mirrored_store.h"

// Which members are of one set (M6, M7).
namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr CallRules kIdentity{.with_identity = false};

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

MemberListings MirroredStore::listings() {
  std::vector<MemberListing> members = counting_listings();
  Listing all = merged(members, majority());
  return {std::move(all), without_great_fences(std::move(members), majority())};
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
