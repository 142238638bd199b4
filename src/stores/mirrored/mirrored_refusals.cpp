#include <algorithm>
#include <string>

#include "failure.h"
#include "stores/mirrored/mirrored_store.h"
#include "text.h"

// Why the members are no set, for people (M6, M7).
namespace distlock::mirrored {
namespace {

// Names the member, if the failure does not.
std::string in_words(const Error& failure, const std::string& member) {
  const std::string what = failure.what();
  return what.find(member) != std::string::npos ? what : member + ": " + what;
}

// Nothing of one that is in its place.
std::string fault_of(const Inspection& look, const Place& place, const std::string& member) {
  if (is_changed_identity(look)) return member + ": " + std::string(kIdentityChanged);
  if (lacks_identity(look, place)) return member + " is empty";
  return identity_in(look, place) ? "" : member + " is of another place";
}

std::size_t most_of_one_set(const Replies<Inspection>& seen) {
  std::map<Token, std::size_t> members;
  std::size_t most = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].answer) continue;
    const auto identity = identity_in(*seen[i].answer, {i, seen.size()});
    if (identity) most = std::max(most, ++members[identity->set]);
  }
  return most;
}

template <class Matches>
std::size_t number_of(const Replies<Inspection>& seen, const Matches& matches) {
  return static_cast<std::size_t>(std::count_if(seen.begin(), seen.end(), matches));
}

std::size_t number_away(const Replies<Inspection>& seen) {
  return number_of(seen,
                   [](const auto& reply) { return reply.failure && may_pass(*reply.failure); });
}

std::string advice(std::size_t emptied, std::size_t in_place, std::size_t majority) {
  if (in_place == 0) return "; to become a set all of them must answer, and be empty";
  if (emptied >= majority) {
    return "; if they are being made a set, try again; if a majority was emptied: stop all "
           "processes, empty the other members too, and the next call makes them a set anew";
  }
  return "; a majority must answer as one set";
}

}  // namespace

// Whether waiting may help: members that are away may be of the same set as some that answer. Of
// members that lack an identity no set is made while others are away.
bool MirroredStore::may_become_a_set(const Replies<Inspection>& seen) const {
  return most_of_one_set(seen) + number_away(seen) >= majority();
}

// A fault of a member comes first where waiting for others does not help.
void MirroredStore::refuse_no_set(const Replies<Inspection>& seen) const {
  const std::size_t in_place = most_of_one_set(seen);
  const std::size_t emptied = number_of(seen, [](const auto& reply) {
    return reply.answer && !has_identity(*reply.answer) && !is_changed_identity(*reply.answer);
  });
  std::string why;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::string member = all_[i]->store->description();
    const auto& failure = seen[i].failure;
    const bool lasts = failure && !may_pass(*failure) && !may_become_a_set(seen);
    if (lasts) throw Error(failure->errc(), in_words(*failure, member));
    const std::string fault =
        failure ? in_words(*failure, member) : fault_of(*seen[i].answer, all_[i]->place, member);
    if (!fault.empty()) why += "; " + fault;
  }
  throw Error(Errc::not_applied, "too few members of the mirrored store are of one set" + why +
                                     advice(emptied, in_place, majority()));
}

// Members can be read, but so many refuse a claim for reasons that waiting does not mend that the
// others are no majority. Where the first one does, no other was asked.
std::optional<Error> MirroredStore::denial_in(const Replies<ClaimAnswer>& replies,
                                              std::size_t first) const {
  std::vector<std::size_t> deny;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    if (replies[i].failure && !may_pass(*replies[i].failure)) deny.push_back(i);
  }
  const bool first_denies = std::find(deny.begin(), deny.end(), first) != deny.end();
  if (!first_denies && replies.size() - deny.size() >= majority()) return std::nullopt;
  const Error& failure = *replies[deny.front()].failure;
  return Error(failure.errc(), in_words(failure, all_[deny.front()]->store->description()));
}

// All members answer, and the document of one keeps the others from telling. If another were away,
// it could tell, too.
void MirroredStore::refuse_malformed_state(std::string_view name,
                                           const std::vector<MemberCarries>& members) const {
  const bool all = std::all_of(members.begin(), members.end(),
                               [](const MemberCarries& one) { return one.answered; });
  const auto malformed = std::find_if(members.begin(), members.end(), [](const auto& one) {
    return one.answered && one.carried && !one.carried->state;
  });
  if (!all || malformed == members.end()) return;
  const auto& member = all_[static_cast<std::size_t>(malformed - members.begin())];
  throw Error(Errc::bad_record, "lock \"" + escaped(std::string(name)) + "\" on " +
                                    member->store->description() +
                                    ": field \"state\" is not well-formed, so that nobody can tell "
                                    "whether it is held: mend that document");
}

// To empty a second name of a member is to empty that member.
void MirroredStore::refuse_stranger(const Member& member, const Inspection& look,
                                    const Token& set) {
  const std::string is = member.store->description() + " is " + escaped(look.lock->who);
  const bool of_the_set = look.lock->process == std::string(kIdentityProcess) + to_hex(set);
  throw Error(Errc::invalid_argument,
              of_the_set ? is + " of this very mirrored store, under a second name or in another "
                                "order, or a copy of it: name each member once, in the same order "
                                "everywhere; only if it is a store of its own, empty it first"
                         : is + " of another mirrored store: name the store that belongs there, or "
                                "empty this one first");
}

// An operator learns what is wrong, and makes no set.
void MirroredStore::refuse_to_readmit(const Replies<Inspection>& seen) {
  if (const auto known = known_set()) check_not_gone(*known);
  check_same_members(set_of_majority(seen), seen);
  refuse_no_set(seen);
}

// All answer.
void MirroredStore::refuse_to_found(const Replies<Inspection>& seen, const Member* used) const {
  if (!all_are_empty(seen)) refuse_no_set(seen);
  if (used != nullptr) {
    throw Error(Errc::not_applied,
                "the members of the mirrored store are no set, and " + used->store->description() +
                    " has locks, so that none can be made of them: check their names; if their "
                    "identities were deleted, stop all processes and empty all members");
  }
  throw Error(
      Errc::not_applied,
      "the members of the mirrored store are no set yet; check their names, or make them one "
      "with distlock run");
}

// Another founder may have made a set meanwhile, and be away now. Then its member has an identity.
void MirroredStore::refuse_used(const Member& used) {
  const auto seen = look_at_identities();
  const auto& look = seen[used.place.number].answer;
  if (!look || has_identity(*look) || is_changed_identity(*look)) refuse_no_set(seen);
  throw Error(Errc::invalid_argument,
              used.store->description() +
                  " has locks of its own, and cannot become a member of a mirrored store: take an "
                  "empty one");
}

}  // namespace distlock::mirrored
