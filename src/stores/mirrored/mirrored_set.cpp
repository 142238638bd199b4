#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <utility>

#include "local_span.h"
#include "saturating.h"
#include "stores/mirrored/agreement.h"
#include "stores/mirrored/member_states.h"
#include "stores/mirrored/mirrored_store.h"
#include "text.h"

// Which members are of one set (M6, M7).
namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr CallRules kIdentity{.with_identity = false};

[[noreturn]] void refuse_order(const Member& member, const Inspection& look) {
  throw Error(Errc::invalid_argument,
              member.store->description() + " is " + escaped(look.lock->who) +
                  " of a mirrored store: name the same members in the same order everywhere");
}

// Without a document of its own that can be read, the listing may still say something.
MemberLook look_at(Member& member, Clock& clock) {
  MemberLook look{.identity = {}, .listing = {}};
  try {
    look.identity = member.look_at_identity();
  } catch (const Error& error) {
    if (error.errc() != Errc::bad_record) throw;
    look.malformed = error.what();
  }
  const auto [listing, span] = timed(clock, [&] { return member.list(); });
  look.listing = listing;
  const auto middle = span.sent + (span.received - span.sent) / 2;
  using std::chrono::milliseconds;
  const auto here = std::chrono::round<milliseconds>(middle.time_since_epoch());
  look.off = saturating_difference(listing.now.time, StoreTime{here});
  return look;
}

}  // namespace

Token MirroredStore::new_token() const {
  const std::array<std::uint64_t, 2> random{options_.random(), options_.random()};
  Token token;
  std::memcpy(token.bytes.data(), random.data(), sizeof token.bytes);
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
  const auto known = set_of_majority(seen);
  check_same_members(known, seen);
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
    refuse_order(*all_[i], look);
  }
}

void MirroredStore::check_same_members(const std::optional<Token>& known,
                                       const Replies<Inspection>& seen) const {
  check_no_store_is_twice();
  if (known) {
    check_order_beside(*known, seen);
  } else if (!may_become_a_set(seen)) {
    if (const Member* twice = given_twice()) refuse_twice(*twice);
    check_order(seen);
  }
}

// Members that are named at each other's places. A member alone at a wrong place may be a copy, or
// a store that was moved: it does not count.
void MirroredStore::check_order_beside(const Token& set, const Replies<Inspection>& seen) const {
  std::map<std::size_t, std::size_t> stated;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].answer) continue;
    const auto place = place_stated(*seen[i].answer, seen.size(), set);
    if (place) stated[i] = *place;
  }
  for (const auto& [number, place] : stated) {
    const auto there = stated.find(place);
    if (there == stated.end() || there->second == place) continue;
    refuse_order(*all_[number], *seen[number].answer);
  }
}

// The member before it that shows the same identity, at whatever places they were named.
const Member* MirroredStore::twin_of(const Member& member) const {
  const auto token = member.token();
  const auto twin = std::find_if(all_.begin(), all_.end(), [&](const auto& other) {
    return other.get() != &member && token && other->token() == token;
  });
  return twin == all_.end() ? nullptr : twin->get();
}

// A server has a clock of its own, as has a copy on another server. Both have shown an identity,
// and with it their clocks.
bool MirroredStore::is_one_store(const Member& one, const Member& twin) const {
  if (twins_ == Twins::copies) return false;
  return one.at_most().value().clock == twin.at_most().value().clock;
}

const Member* MirroredStore::given_twice() const {
  const auto twice = std::find_if(all_.rbegin(), all_.rend(), [this](const auto& member) {
    return twin_of(*member) != nullptr;
  });
  return twice == all_.rend() ? nullptr : twice->get();
}

// Beside a majority a copy counts for nobody, since it states the place that it is a copy of.
void MirroredStore::check_no_store_is_twice() const {
  const auto twice = std::find_if(all_.rbegin(), all_.rend(), [this](const auto& member) {
    const Member* const twin = twin_of(*member);
    return twin != nullptr && is_one_store(*member, *twin);
  });
  if (twice != all_.rend()) refuse_twice(**twice);
}

void MirroredStore::refuse_twice(const Member& member) {
  throw Error(Errc::invalid_argument,
              "two members of a mirrored store are one store, or one is a copy of the other: " +
                  member.store->description() + "; name each of them once");
}

MemberListings MirroredStore::listings() {
  std::vector<MemberListing> members = with_ends_of_holds(counting_listings(), majority());
  Listing all = merged(members, majority());
  return {std::move(all), without_great_fences(std::move(members), majority())};
}

std::vector<MemberState> MirroredStore::states() {
  const auto replies = ask_all<MemberLook>(
      kIdentity, [clock = clock_](Member& member) { return look_at(member, *clock); });
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
