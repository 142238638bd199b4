#include "stores/mirrored/agreement.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "carries.h"
#include "stores/mirrored/identity.h"
#include "stores/mirrored/quorum.h"

namespace distlock::mirrored {
namespace {

// Two members that say the same of these carry the same hold.
using Content = std::tuple<bool, std::optional<Token>>;

Content content_of(const LockRecord& lock) { return {lock.taken(), lock.ts}; }

using Records = std::vector<const LockRecord*>;  // One a member, null where it has none.

// The members that carry the commonest content of the taken records, or of the free ones. Among
// equally common contents the greatest fence wins.
std::vector<std::size_t> carriers_of_most(const Records& records, bool taken) {
  std::map<Content, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const bool wanted = records[i] != nullptr && records[i]->taken() == taken;
    if (wanted) alike[content_of(*records[i])].push_back(i);
  }
  const auto rank = [&](const auto& one) {
    return std::pair(one.second.size(), records[one.second.front()]->fence);
  };
  const auto most =
      std::max_element(alike.begin(), alike.end(),
                       [&](const auto& one, const auto& other) { return rank(one) < rank(other); });
  return most == alike.end() ? std::vector<std::size_t>{} : most->second;
}

// A hold is in the way unless a majority of the members has none. It may be a majority's, too:
// members that are away may carry it.
std::vector<std::size_t> carriers_of_shown(const Records& records, std::size_t unsound,
                                           std::size_t majority) {
  const auto taken = static_cast<std::size_t>(
      std::count_if(records.begin(), records.end(),
                    [](const LockRecord* one) { return one != nullptr && one->taken(); }));
  const bool in_the_way = records.size() - taken - unsound < majority;
  const std::vector<std::size_t> carriers = carriers_of_most(records, in_the_way);
  return carriers.empty() ? carriers_of_most(records, !in_the_way) : carriers;
}

// Of the member that is shown.
void name_clocks(Inspection& all, const Token& member) {
  if (all.now) name_clock(*all.now, member);
  if (all.ping) name_clock(*all.ping, member);
}

template <class Record>
void keep_one_each(std::vector<Listed<Record>>& all, const std::vector<Listed<Record>>& of_one) {
  const auto key = [](const Listed<Record>& entry) {
    return std::tuple(std::string_view(entry.id), entry.named, entry.record.has_value());
  };
  std::set<std::tuple<std::string_view, bool, bool>> known;
  for (const Listed<Record>& entry : all) known.insert(key(entry));
  std::vector<Listed<Record>> added;
  for (const Listed<Record>& entry : of_one) {
    if (!known.contains(key(entry))) added.push_back(entry);
  }
  all.insert(all.end(), added.begin(), added.end());
}

template <class Record>
void sort_by_id(std::vector<Listed<Record>>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& left, const auto& right) { return left.id < right.id; });
}

// A lock that is sound on some member.
struct SoundLock {
  Records records;
  std::size_t unsound = 0;  ///< Members with a malformed document, or left out for a great fence.
};

std::map<std::string, SoundLock> locks_by_name(const std::vector<MemberListing>& members) {
  std::map<std::string, SoundLock> by_name;
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const auto& entry : members[i].listing.locks) {
      if (!entry.named || entry.id == kIdentityName) continue;
      SoundLock& lock = by_name[entry.id];
      lock.records.resize(members.size());
      if (entry.record) lock.records[i] = &*entry.record;
      if (!entry.record) ++lock.unsound;
    }
  }
  return by_name;
}

std::vector<std::size_t> great_in(const SoundLock& lock, const std::vector<MemberListing>& members,
                                  std::size_t majority) {
  std::vector<Fence> fences;
  for (std::size_t i = 0; i < members.size(); ++i) {
    fences.push_back(members[i].fence_of_lost);
    if (lock.records[i] != nullptr) fences[i] = std::max(fences[i], lock.records[i]->fence);
  }
  return great_of_minority(fences, lock.unsound, majority);
}

void leave_out_great_fences(SoundLock& lock, const std::vector<MemberListing>& members,
                            std::size_t majority) {
  const auto great = great_in(lock, members, majority);
  for (const std::size_t i : great) lock.records[i] = nullptr;
  lock.unsound += great.size();
}

void leave_out(std::vector<Listed<LockRecord>>& locks, const std::string& name) {
  std::erase_if(locks, [&](const auto& entry) { return entry.named && entry.id == name; });
  locks.push_back({name, std::nullopt, "left out for its great fence"});
}

// Locks that are sound on some member, each as a look shows it.
std::vector<Listed<LockRecord>> sound_locks(const std::vector<MemberListing>& members,
                                            std::size_t majority) {
  std::vector<Listed<LockRecord>> locks;
  for (auto& [name, lock] : locks_by_name(members)) {
    leave_out_great_fences(lock, members, majority);
    const auto carriers = carriers_of_shown(lock.records, lock.unsound, majority);
    if (carriers.empty()) continue;
    locks.push_back({name, *lock.records[carriers.front()], {}});
    for (const std::size_t i : carriers) {
      if (!carries_for_majority(lock.records[i]->fence, members[i].fence_of_lost)) continue;
      locks.back().record->members.push_back(members[i].member);
    }
  }
  return locks;
}

std::vector<Inspection> looks_at(const SoundLock& lock, const std::vector<MemberListing>& members) {
  std::vector<Inspection> looks;
  for (std::size_t i = 0; i < members.size(); ++i) {
    looks.push_back({.fresh = true, .fence_of_lost = members[i].fence_of_lost});
    if (lock.records[i] != nullptr) looks[i].lock = *lock.records[i];
  }
  return looks;
}

void name_clocks(Listing& listing, const Token& member) {
  name_clock(listing.now, member);
  for (auto& ping : listing.pings) {
    if (ping.record) name_clock(*ping.record, member);
  }
}

}  // namespace

Inspection merged(std::vector<Inspection> members, std::size_t majority) {
  Records records;
  Inspection all;
  all.fresh = true;
  for (const Inspection& one : members) {
    records.push_back(one.lock ? &*one.lock : nullptr);
    all.fence = std::max(all.fence, one.fence);
    all.fresh = all.fresh && one.fresh;
  }
  const std::vector<std::size_t> carriers = carriers_of_shown(records, 0, majority);
  const auto absent = static_cast<std::size_t>(std::count(records.begin(), records.end(), nullptr));
  const Inspection& shown = members[carriers.empty() ? 0 : carriers.front()];
  all.now = shown.now;
  if (absent < majority) {
    all.lock = shown.lock;
    all.ping = shown.ping;
  }
  name_clocks(all, shown.member);
  if (all.lock) {
    for (const std::size_t i : carriers) {
      if (!carries_for_majority(records[i]->fence, members[i].fence_of_lost)) continue;
      all.lock->members.push_back(members[i].member);
    }
  }
  all.members = std::move(members);
  return all;
}

Listing merged(std::vector<MemberListing> members, std::size_t majority) {
  for (MemberListing& one : members) name_clocks(one.listing, one.member);
  Listing all{
      .locks = sound_locks(members, majority), .pings = {}, .now = members.front().listing.now};
  for (const MemberListing& one : members) {
    std::vector<Listed<LockRecord>> locks = one.listing.locks;
    std::erase_if(locks, [](const auto& entry) { return entry.id == kIdentityName; });
    keep_one_each(all.locks, locks);
    keep_one_each(all.pings, one.listing.pings);
  }
  sort_by_id(all.locks);
  sort_by_id(all.pings);
  return all;
}

std::vector<MemberListing> without_great_fences(std::vector<MemberListing> members,
                                                std::size_t majority) {
  std::vector<std::pair<std::string, std::size_t>> great;
  for (const auto& [name, lock] : locks_by_name(members)) {
    for (const std::size_t i : great_in(lock, members, majority)) great.emplace_back(name, i);
  }
  for (const auto& [name, i] : great) leave_out(members[i].listing.locks, name);
  return members;
}

std::vector<MemberListing> with_ends_of_holds(std::vector<MemberListing> members,
                                              std::size_t majority) {
  std::vector<std::pair<std::string, std::size_t>> over;
  for (const auto& [name, lock] : locks_by_name(members)) {
    const auto looks = with_ends_of_holds(looks_at(lock, members), majority);
    for (std::size_t i = 0; i < looks.size(); ++i) {
      if (looks[i].over) over.emplace_back(name, i);
    }
  }
  for (const auto& [name, i] : over) members[i].over.push_back(name);
  return members;
}

std::vector<StoredHold> merged(const std::vector<MemberHolds>& members, std::size_t majority) {
  std::map<std::pair<std::string, Token>, std::set<Token>> carriers;
  for (const MemberHolds& one : members) {
    for (const StoredHold& hold : one.holds) carriers[{hold.name, hold.ts}].insert(one.member);
  }
  std::vector<StoredHold> all;
  all.reserve(carriers.size());
  for (const auto& [hold, by] : carriers) {
    all.push_back({hold.first, hold.second, by.size() >= majority});
    for (const MemberHolds& one : members) {
      if (!by.contains(one.member)) all.back().lacking.push_back(one.member);
    }
  }
  return all;
}

}  // namespace distlock::mirrored
