#include <algorithm>
#include <string>
#include <utility>

#include "log.h"
#include "saturating.h"
#include "stores/mirrored/mirrored_store.h"

// How a member that is new, or lost its data, comes back to a set whose majority counts (M6):
//
//   mark     the member           it is kept out from now on
//   tell     the other members    Q of them know that an earlier store there counts no more
//   wait     the longest window   what counted on that store is over; each process counts by its
//                                 own clock
//   fences   the other members    the greatest that Q of them know: no hold that is over had more
//   back     the member           a new identity in the place of exactly that mark
//
// Each mend() takes one of these steps on one member, so that it ends within one call's limit.
namespace distlock::mirrored {
namespace {

constexpr CallRules kList{};
constexpr CallRules kTell{.kind = CallKind::write, .with_identity = false};
// Of one member.
constexpr CallRules kMend{.kind = CallKind::write, .with_identity = false, .for_majority = false};

Error cannot_return(const Member& member, const std::string& why) {
  return {Errc::not_applied, member.store->description() + " cannot be taken back: " + why};
}

Returns returns_anew(const Member& member, const SetTerms& terms, std::uint64_t random) {
  auto returns = with_greater(terms.returns, member.place.number, random);
  if (!returns) throw cannot_return(member, "it has come back too often");
  return *returns;
}

StoreNow cutoff_on(const Member& member, std::chrono::milliseconds limit) {
  const auto now = member.at_most();
  if (!now) throw cannot_return(member, "it has not told its time");
  return {saturating_sum(now->time, limit), now->clock, now->steady, now->unrelated};
}

Fence next_fence(const Member& member, Fence above) {
  if (above < kFenceLimit - 1) return above + 1;
  throw cannot_return(member, "a lock of the other members has the greatest fence there is");
}

}  // namespace

bool MirroredStore::incomplete() {
  return std::any_of(all_.begin(), all_.end(),
                     [](const auto& member) { return member->lack().has_value(); });
}

// The identity of a member that counts.
std::optional<Identity> MirroredStore::counting_identity(const Replies<Inspection>& seen,
                                                         std::size_t number,
                                                         const Token& set) const {
  if (!seen[number].answer) return std::nullopt;
  const auto identity = identity_in(*seen[number].answer, all_[number]->place);
  const bool counts = identity && identity->set == set && !all_[number]->is_of_before(*identity);
  return counts ? identity : std::nullopt;
}

// Of the set, if a majority of its members counts.
std::optional<SetTerms> MirroredStore::terms(const Replies<Inspection>& seen) const {
  const auto set = set_of_majority(seen);
  if (!set) return std::nullopt;
  SetTerms terms{*set, {}, {}};
  std::size_t counting = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto identity = counting_identity(seen, i, *set);
    if (!identity) continue;
    ++counting;
    terms.longest_takeover = std::max(terms.longest_takeover, identity->longest_takeover);
    terms.returns = merged(std::move(terms.returns), identity->returns);
  }
  return counting < majority() ? std::nullopt : std::optional(terms);
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
    if (!look || !member->is_to_come_back(*look)) continue;
    if (mend_one(member, seen, *terms)) return;
  }
}

// Whether there was anything to do.
bool MirroredStore::mend_one(const std::shared_ptr<Member>& member, const Replies<Inspection>& all,
                             const SetTerms& terms) {
  const std::size_t number = member->place.number;
  const Inspection& seen = *all[number].answer;
  const auto marker = marker_in(seen, member->place);
  const auto lack = member->lack();
  if (!lack) return false;
  const SteadyTime now = clock_->steady_now();
  // Another mark, of before, may have come back with old data.
  if (!marker || member->is_of_before(*marker)) {
    // A founder of the set may be about to claim its identity.
    if (is_changed_identity(seen)) tell_of_change(*member);
    const bool long_enough = (marker || !lack->marker) && now - lack->since > call_limit_;
    if (long_enough) mark(member, basis_of(seen), terms);
    return long_enough;
  }
  const bool known = lack->marker && lack->marker->token == marker->token;
  if (!known || marker->set != terms.set) return false;
  if (member->tells_first("kept out " + to_hex(marker->token))) {
    log::member_kept_out(member->store->description(), terms.longest_takeover);
  }
  if (!lack->told) {
    if (tell_others(all, number, terms, marker->returns)) member->note_told(marker->token);
    return true;
  }
  const SteadyTime over = *lack->told + terms.longest_takeover;
  if (now < over) return false;
  if (lack->fence) {
    const Fence above = std::max(*lack->fence, seen.lock->fence);
    take_back(member, basis_of(seen), terms, above);
  } else if (const auto fence = fence_for(*member, terms, over)) {
    member->note_fence(marker->token, *fence);
  }
  return true;
}

void MirroredStore::tell_of_change(Member& member) {
  if (!member.tells_first("identity changed")) return;
  log::member_cannot_be_used(member.store->description(), kIdentityChanged);
}

void MirroredStore::tell_of_locks(Member& member) {
  if (member.tells_first("carries locks")) log::member_carries_locks(member.store->description());
}

// Of a member that will not come back by itself, though it answers.
void MirroredStore::tell_if_strange(Member& member, const Token& set) const {
  const auto token = member.token();
  const auto identity = member.identity();
  const auto lack = member.lack();
  const bool kept_out_here = lack && (!lack->marker || lack->marker->set == set);
  const bool of_the_set = identity && identity->set == set;
  if (!token || of_the_set || kept_out_here) return;
  if (!member.tells_first("strange " + to_hex(*token))) return;
  if (twin_of(member) != nullptr) return log::member_is_a_copy(member.store->description());
  const bool at_this_place = identity || lack;
  if (at_this_place) return log::member_of_another_set(member.store->description());
  log::member_of_another_place(member.store->description());
}

// Whether Q other members know by now that the place was given anew. Each claim is one from
// exactly the identity that was seen, and leaves it that identity.
bool MirroredStore::tell_others(const Replies<Inspection>& seen, std::size_t number,
                                const SetTerms& terms, const Returns& news) {
  std::size_t know = 0;
  MemberList ignorant;
  for (const auto& member : all_) {
    const std::size_t other = member->place.number;
    const auto identity = counting_identity(seen, other, terms.set);
    if (other == number || !identity) continue;
    const bool knows = returns_at(identity->returns, number) >= returns_at(news, number);
    know += knows ? 1 : 0;
    if (!knows) ignorant.push_back(member);
  }
  CallRules rules = kTell;
  rules.answered = know;
  const auto replies =
      ask_those<bool>(ignorant, rules, [seen, news, limit = call_limit_](Member& one) {
        const Inspection& look = *seen[one.place.number].answer;
        const Claim claim = news_claim(look, news, cutoff_on(one, limit));
        return one.store->claim(kIdentityName, basis_of(look), claim).has_value();
      });
  for (const auto& reply : replies) know += reply.answer == true ? 1 : 0;
  return know >= majority();
}

// Two processes that mark at once: one mark remains, and both see which.
void MirroredStore::mark(const std::shared_ptr<Member>& member, const ClaimBasis& basis,
                         SetTerms terms) {
  const Token token = new_token();
  terms.returns = returns_anew(*member, terms, options_.random());
  const auto replies =
      ask_those<bool>({member}, kMend, [basis, terms, token, limit = call_limit_](Member& one) {
        if (carries_locks(one.list())) return false;
        const StoreNow cutoff = cutoff_on(one, limit);
        one.store->claim(kIdentityName, basis, marker_claim(token, terms, one.place, cutoff));
        return true;
      });
  if (replies[member->place.number].answer == false) tell_of_locks(*member);
}

void MirroredStore::tell_of_hidden_fences(Member& returning, const KnownFences& fences) const {
  for (const auto& [place, lock] : fences.hidden) {
    const std::string where = all_[place]->store->description();
    std::string news = "hidden by ";
    news.append(lock).append(" on ").append(where);
    if (returning.tells_first(news))
      log::member_waits_for_fence(returning.store->description(), lock, where);
  }
}

void MirroredStore::refuse_hidden(const Member& returning, const KnownFences& fences) const {
  const auto& [place, lock] = *fences.hidden.begin();
  const std::string where = all_[place]->store->description();
  throw cannot_return(returning, hidden_in_words(lock, where) + ": mend that document");
}

// The greatest fence that Q other members know. A hold that counted on the lost data was granted by
// Q - 1 of the other 2Q - 2. So one of any Q knows its fence. `pinged_since`: a listing counts only
// if it shows a ping that was sent since then. The server was no deposed one then.
std::optional<Fence> MirroredStore::fence_for(Member& returning, const SetTerms& terms,
                                              std::optional<SteadyTime> pinged_since) {
  auto replies = ask_all<Listing>(kList, [](Member& member) { return member.list(); });
  const auto& own = replies[returning.place.number].answer;
  if (own && carries_locks(*own)) tell_of_locks(returning);
  if (!own || carries_locks(*own)) return std::nullopt;
  ListingsByPlace listings;
  for (const auto& member : all_) {
    auto& reply = replies[member->place.number];
    if (member.get() == &returning || !counts(reply, terms.set)) continue;
    if (pinged_since && !member->is_current(*reply.answer, *pinged_since)) continue;
    listings.emplace(member->place.number, std::move(*reply.answer));
  }
  const KnownFences fences = known_fences(listings, majority());
  Fence greatest = fences.greatest;
  for (const auto& [place, listing] : listings) {
    if (!fences.hidden.contains(place))
      greatest = std::max(greatest, replies[place].identity->fence);
  }
  if (fences.known >= majority()) return greatest;
  if (listings.size() < majority()) return std::nullopt;
  if (!pinged_since) refuse_hidden(returning, fences);
  tell_of_hidden_fences(returning, fences);
  return std::nullopt;
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
  const auto& member = all_[number];
  const auto seen = look_at_identities();
  auto terms = this->terms(seen);
  // Before set(), which may found one.
  if (!terms) refuse_to_readmit(seen);
  const Token set = this->set();
  if (terms->set != set) refuse_no_set(seen);
  if (!seen[number].answer) throw Error(*seen[number].failure);
  const Inspection& look = *seen[number].answer;
  if (counting_identity(seen, number, set)) return false;
  const auto marker = marker_in(look, member->place);
  if (!member->is_to_come_back(look) || (marker && marker->set != set)) {
    refuse_stranger(*member, look, set);
  }
  if (is_changed_identity(look)) throw cannot_return(*member, std::string(kIdentityChanged));
  const auto fence = fence_for(*member, *terms, std::nullopt);
  if (!fence) {
    throw cannot_return(*member,
                        "a majority of others must show all their locks, each with a fence that "
                        "a claim can have, and it must carry none itself: empty it");
  }
  const Fence above = std::max(*fence, look.lock ? look.lock->fence : 0);
  // The number of a mark that is not of before is new already. Another one would put the member out
  // again, if a wait ends now.
  const bool marked = marker && !member->is_of_before(*marker);
  terms->returns = marked ? merged(std::move(terms->returns), marker->returns)
                          : returns_anew(*member, *terms, options_.random());
  if (!tell_others(seen, number, *terms, terms->returns)) {
    throw cannot_return(*member, "too few others could be told; try again");
  }
  if (take_back(member, basis_of(look), *terms, above)) return true;
  throw cannot_return(*member, "somebody else changed it meanwhile; look again");
}

}  // namespace distlock::mirrored
