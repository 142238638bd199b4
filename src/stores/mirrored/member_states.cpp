#include "stores/mirrored/member_states.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "carries.h"
#include "saturating.h"
#include "stores/mirrored/quorum.h"
#include "stores/mirrored/returning.h"

namespace distlock::mirrored {
namespace {

using Looks = std::vector<std::optional<MemberLook>>;
using Hold = std::pair<std::string, Token>;

std::optional<std::chrono::milliseconds> middle_clock(const Looks& looks) {
  std::vector<std::chrono::milliseconds> offs;
  for (const auto& look : looks) {
    if (look) offs.push_back(look->off);
  }
  if (offs.empty()) return std::nullopt;
  std::sort(offs.begin(), offs.end());
  return offs[offs.size() / 2];
}

std::optional<Token> commonest_set(const Looks& looks) {
  std::map<Token, std::size_t> members;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (!looks[i]) continue;
    const auto identity = identity_in(looks[i]->identity, {i, looks.size()});
    if (identity) ++members[identity->set];
  }
  const auto most = std::max_element(
      members.begin(), members.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  return most == members.end() ? std::nullopt : std::optional(most->first);
}

// Its identity, too: as a hold it is that of no majority.
std::vector<Hold> holds_in(const Listing& listing, Fence fence_of_lost) {
  std::vector<Hold> holds;
  for (const auto& entry : listing.locks) {
    const bool held = entry.record && entry.record->taken();
    const bool counts = held && carries_for_majority(entry.record->fence, fence_of_lost);
    if (counts) holds.emplace_back(entry.id, *entry.record->ts);
  }
  return holds;
}

MemberState::Condition condition_of(const MemberLook& look, const Place& place,
                                    const std::optional<Token>& set) {
  if (look.malformed) return MemberState::Condition::strange;
  if (look.of_before || !has_identity(look.identity)) return MemberState::Condition::empty;
  const auto marker = marker_in(look.identity, place);
  if (marker && !set) return MemberState::Condition::empty;
  if (marker && marker->set == set) return MemberState::Condition::kept_out;
  const auto identity = identity_in(look.identity, place);
  const bool counts = identity && identity->set == set;
  return counts ? MemberState::Condition::counts : MemberState::Condition::strange;
}

std::chrono::milliseconds kept_out_for(const MemberLook& look, const Place& place) {
  const auto whole = marker_in(look.identity, place)->longest_takeover;
  const auto since = saturating_difference(look.listing.now.time, *look.identity.lock->when);
  return whole - std::clamp(since, std::chrono::milliseconds{0}, whole);
}

// Says of each member that counts how many holds of a majority it lacks.
void count_lacking(std::vector<MemberState>& states, const Looks& looks) {
  std::map<Hold, std::vector<bool>> carriers;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (states[i].condition != MemberState::Condition::counts) continue;
    const Identity identity = identity_in(looks[i]->identity, {i, looks.size()}).value();
    for (const Hold& hold : holds_in(looks[i]->listing, identity.fence)) {
      auto& carried = carriers[hold];
      carried.resize(looks.size(), false);
      carried[i] = true;
    }
  }
  for (const auto& [hold, carried] : carriers) {
    const auto members = static_cast<std::size_t>(std::count(carried.begin(), carried.end(), true));
    if (members < majority_of(looks.size())) continue;
    for (std::size_t i = 0; i < looks.size(); ++i) {
      if (!carried[i] && states[i].condition == MemberState::Condition::counts) ++states[i].lacks;
    }
  }
}

bool counts(const MemberState& state) { return state.condition == MemberState::Condition::counts; }

// Of a member with an identity: whether another one shows the same.
bool is_copy(const Looks& looks, std::size_t number) {
  const auto& token = looks[number]->identity.lock->ts;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (i != number && looks[i] && carries(looks[i]->identity, token)) return true;
  }
  return false;
}

// The fault of a member that does not count, where its condition does not say it.
std::string problem_of(const Looks& looks, std::size_t number, const MemberState& state) {
  const MemberLook& look = *looks[number];
  if (look.malformed) {
    return "its identity is malformed, so that it counts for nobody: empty it; " + *look.malformed;
  }
  if (is_changed_identity(look.identity)) return std::string(kIdentityChanged);
  const bool strange = state.condition == MemberState::Condition::strange;
  if (strange && is_copy(looks, number)) {
    return "it is another member under a second name, or a copy of it: name each member once; "
           "only if it is a store of its own, empty it";
  }
  const bool lacks = state.condition == MemberState::Condition::empty ||
                     state.condition == MemberState::Condition::kept_out;
  if (!lacks || !carries_locks(look.listing)) return "";
  return "it is no member, and has locks of its own: empty it, and it takes part again later";
}

// By lock, the fence on each member that counts. The lock without a name is any that is claimed
// anew.
std::map<std::string, std::vector<Fence>> fences_on(const std::vector<MemberState>& states,
                                                    const Looks& looks) {
  std::map<std::string, std::vector<Fence>> fences{{"", {}}};
  std::vector<Fence> lost(looks.size());
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (counts(states[i])) lost[i] = identity_in(looks[i]->identity, {i, looks.size()})->fence;
  }
  fences[""] = lost;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (!counts(states[i])) continue;
    for (const auto& entry : looks[i]->listing.locks) {
      if (!entry.record || entry.id == kIdentityName) continue;
      auto& all = fences.try_emplace(entry.id, lost).first->second;
      all[i] = std::max(all[i], entry.record->fence);
    }
  }
  return fences;
}

// Documents for which a member that counts is left out (M3), or not judged.
void tell_of_documents(std::vector<MemberState>& states, const Looks& looks) {
  const auto away =
      static_cast<std::size_t>(std::count_if(states.begin(), states.end(), std::not_fn(counts)));
  for (const auto& [lock, fences] : fences_on(states, looks)) {
    for (const std::size_t i : great_of_minority(fences, away, majority_of(looks.size()))) {
      std::string& problem = states[i].problem;
      if (lock.empty()) {
        problem =
            "its identity has a fence that no other member knows, so that it counts for no "
            "lock: empty it";
      } else if (problem.empty()) {
        problem = "lock \"" + lock +
                  "\" has a fence there that no other member knows, so that it "
                  "does not count for this lock: empty the member";
      }
    }
  }
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (!counts(states[i])) continue;
    for (const auto& entry : looks[i]->listing.locks) {
      if (states[i].problem.empty()) states[i].problem = entry.problem;
    }
  }
}

// A document of another member keeps it out (M6), so that no time says when it is back.
void tell_of_hidden_fences(std::vector<MemberState>& states, const Looks& looks) {
  const std::size_t majority = majority_of(looks.size());
  ListingsByPlace listings;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (counts(states[i])) listings.emplace(i, looks[i]->listing);
  }
  const KnownFences fences = known_fences(listings, majority);
  if (listings.size() < majority || fences.known >= majority) return;
  const auto& [place, lock] = *fences.hidden.begin();
  const std::string why = hidden_in_words(lock, "member " + std::to_string(place + 1));
  for (std::size_t i = 0; i < looks.size(); ++i) {
    MemberState& state = states[i];
    if (state.condition != MemberState::Condition::kept_out || !state.problem.empty()) continue;
    state.kept_out_for.reset();
    state.problem = "it lost its data, and stays out: " + why +
                    "; mend that document, and it comes back after its wait, or at once by "
                    "distlock readmit " +
                    std::to_string(i + 1);
  }
}

}  // namespace

std::vector<MemberState> states_of(const Looks& looks) {
  const auto set = commonest_set(looks);
  const auto middle = middle_clock(looks);
  std::vector<MemberState> states(looks.size());
  for (std::size_t i = 0; i < looks.size(); ++i) {
    if (!looks[i]) continue;
    MemberState& state = states[i];
    state.condition = condition_of(*looks[i], {i, looks.size()}, set);
    state.ahead = saturating_difference(StoreTime{looks[i]->off}, StoreTime{*middle});
    if (state.condition == MemberState::Condition::counts) {
      state.member = *looks[i]->identity.lock->ts;
    }
    if (state.condition == MemberState::Condition::kept_out) {
      state.kept_out_for = kept_out_for(*looks[i], {i, looks.size()});
    }
    state.problem = problem_of(looks, i, state);
  }
  count_lacking(states, looks);
  tell_of_documents(states, looks);
  tell_of_hidden_fences(states, looks);
  return states;
}

}  // namespace distlock::mirrored
