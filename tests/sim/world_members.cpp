#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "sim/sim_clock.h"
#include "sim/world.h"
#include "stores/mirrored/identity.h"

// The members of a mirrored store, and which of them count.
namespace distlock::sim {
namespace {

constexpr std::uint64_t kNoMajorityWith = std::numeric_limits<std::uint64_t>::max();

// As a member that one process founded.
void make_member(MemoryTables& tables, const mirrored::SetTerms& terms,
                 const mirrored::Place& place) {
  Token token = terms.set;
  token.bytes[11] = static_cast<std::uint8_t>(place.number + 1);
  const StoreNow now{StoreTime{kEpoch}, "founding"};
  const Claim claim = mirrored::identity_claim(token, terms, place, now);
  tables.claim(mirrored::kIdentityName, FromAbsent{}, claim, now);
}

using Identities = std::vector<std::optional<mirrored::Identity>>;  // Of all members.

// The greatest number of that place which any majority with it tells (M6).
std::uint64_t told_to_majority(std::size_t place, const Identities& identities) {
  std::vector<std::uint64_t> told;
  for (std::size_t i = 0; i < identities.size(); ++i) {
    if (i == place) continue;
    // No majority needs to hear of one that has no identity.
    const auto& other = identities[i];
    told.push_back(other ? mirrored::returns_at(other->returns, place) : kNoMajorityWith);
  }
  std::sort(told.begin(), told.end(), std::greater<>());
  const std::size_t majority = identities.size() / 2 + 1;
  return told.size() < majority ? 0 : told.at(majority - 1);
}

// Free, unless a majority carries one hold. It is of the process that a majority names, if any.
StoredLock carried_by(const std::vector<StoredLock>& members, const std::vector<bool>& counting) {
  StoredLock carried;
  carried.exists = carried.sound = true;
  std::map<Token, std::size_t> carriers;
  std::map<std::pair<Token, std::string>, std::size_t> named;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const StoredLock& lock = members[i];
    if (!lock.taken || !lock.ts || !counting.at(i)) continue;
    if (++named[{*lock.ts, lock.process}] > members.size() / 2) return lock;
    if (++carriers[*lock.ts] <= members.size() / 2) continue;
    carried = lock;
    carried.process.clear();
  }
  return carried;
}

// Most members have freed that hold, or have granted a later one, or came back with a fence that is
// as great. So no majority can carry it any more.
bool ended_for_good(const Token& ts, Fence fence, const std::vector<StoredLock>& members,
                    const Identities& identities) {
  std::size_t never = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const StoredLock& other = members[i];
    const auto& identity = identities[i];
    if (!identity || (other.taken && other.ts == ts)) continue;
    const bool came_back = identity->fence > 0 && identity->fence >= fence;
    if (came_back || other.fence > fence || other.ts == ts) ++never;
  }
  return never > members.size() / 2;
}

}  // namespace

MemoryTables World::of_another_set(std::size_t number) const {
  MemoryTables tables;
  make_member(tables, {Token{{9}}, setup.longest_window(), {}}, {number, setup.members});
  return tables;
}

void World::add_members() {
  oracle.judge_a_mirrored_store([this](const Belief& belief) { return ended(belief); },
                                [this](const std::string& name, Time since) {
                                  return std::any_of(members.begin(), members.end(),
                                                     [&](const auto& member) {
                                                       return member->oracle.was_busy(name, since);
                                                     });
                                });
  counting_.assign(setup.members, true);
  counting_for_uninformed_ = counting_;
  came_back_.assign(setup.members, 0);
  const mirrored::SetTerms terms{kSet, setup.longest_window(), {}};
  for (std::size_t i = 0; i < setup.members; ++i) {
    SimMember& member = *members.emplace_back(std::make_unique<SimMember>(
        setup, i, scheduler, faults, trace, call_limit(), random.fork()));
    member.servers.meddle("", [&](MemoryTables& tables) {
      make_member(tables, terms, {i, setup.members});
    });
    member.oracle.on_change([this](const std::string& name, const StoredLock& after) {
      if (name == mirrored::kIdentityName) return member_changed();
      if (after.taken && after.ts) oracle.claim_of_member(after);
      tell_majority(name);
    });
    member.oracle.on_touch(
        [this](const std::string& name, const StoredLock& before, const StoredLock& after) {
          if (name != mirrored::kIdentityName) touched(name, before, after);
        });
    member.oracle.on_release([this](const Doer& by, const std::string& name, const Token& ts) {
      return freed(by, name, ts);
    });
  }
}

// Where other faults may befall the members, a minority may be all that is left of a hold.
void World::touched(const std::string& name, const StoredLock& before, const StoredLock& after) {
  const std::vector<StoredLock> locks = on_members(name);
  std::size_t unharmed = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool same = before.ts && locks[i].ts == before.ts;
    unharmed += same && members[i]->oracle.is_as_claimed(locks[i], 2 * setup.pinger.ping_every);
  }
  if (of_documents_and_pauses_alone(setup.faults) && unharmed > members.size() / 2) {
    for (const auto& member : members) {
      member->oracle.names_another(*before.ts);
    }
    oracle.names_another(*before.ts);
    return oracle.touched_in_vain();
  }
  oracle.touched(name, before, after);
  for (const auto& member : members) {
    if (before.ts) member->oracle.excuse(*before.ts);
  }
}

bool World::freed(const Doer& by, const std::string& name, const Token& ts) {
  const Belief* const belief = oracle.belief_of(ts);
  if (belief != nullptr && belief->lock == name && oracle.valid(*belief)) {
    oracle.violate("lock " + name + " was freed on a member by " + std::string(by.process) +
                   " while " + belief->process + " counted on it");
  }
  const std::vector<StoredLock> locks = on_members(name);
  return std::any_of(locks.begin(), locks.end(), [&](const StoredLock& lock) {
    return lock.ts == ts && lock.process == by.process;
  });
}

void World::member_changed() {
  note_counting();
  for (int i = 0; i < setup.locks; ++i)
    note_ended(on_members(lock_name(static_cast<std::uint64_t>(i))));
}

void World::tell_majorities() {
  note_counting();
  for (int i = 0; i < setup.locks && !members.empty(); ++i) {
    tell_majority(lock_name(static_cast<std::uint64_t>(i)));
  }
}

std::optional<mirrored::Identity> World::identity_of(std::size_t number) const {
  const Servers& member = members[number]->servers;
  const Inspection seen = member.tables().inspect(mirrored::kIdentityName, member.now());
  const auto identity = mirrored::identity_in(seen, {number, setup.members});
  return identity && identity->set == kSet ? identity : std::nullopt;
}

bool World::counts_for_good(std::size_t number) const {
  const Servers& member = members[number]->servers;
  if (!counts(number) || member.kind() == StoreKind::steady) return counts(number);
  const auto raw = [](const MemoryTables& tables) {
    return stored_lock(tables.raw_lock(mirrored::kIdentityName)).ts;
  };
  return raw(member.tables()) == raw(member.confirmed_tables());
}

void World::note_counting() {
  mirrored::Returns known;
  Identities identities;
  for (std::size_t i = 0; i < members.size(); ++i) {
    identities.push_back(identity_of(i));
    if (const auto& identity = identities.back()) {
      known = mirrored::merged(known, identity->returns);
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& identity = identities[i];
    const auto own = identity ? mirrored::returns_at(identity->returns, i) : 0;
    counting_[i] = identity && own >= mirrored::returns_at(known, i);
    came_back_[i] = std::max<std::uint64_t>(came_back_[i], own);
    counting_for_uninformed_[i] =
        identity && own >= std::max(came_back_[i], told_to_majority(i, identities));
  }
}

std::vector<StoredLock> World::on_members(const std::string& name) const {
  std::vector<StoredLock> locks;
  for (const auto& member : members) {
    locks.push_back(stored_lock(member->servers.tables().raw_lock(name)));
  }
  return locks;
}

Identities World::identities() const {
  Identities identities;
  for (std::size_t i = 0; i < members.size(); ++i) identities.push_back(identity_of(i));
  return identities;
}

bool World::ended(const Belief& belief) const {
  return ended_for_good(belief.ts, belief.fence, on_members(belief.lock), identities());
}

void World::note_ended(const std::vector<StoredLock>& locks) {
  const Identities known = identities();
  for (const StoredLock& hold : locks) {
    if (!hold.taken || !hold.ts || !ended_for_good(*hold.ts, hold.fence, locks, known)) continue;
    for (const auto& member : members) member->oracle.ended_for_good(*hold.ts);
  }
}

void World::tell_majority(const std::string& name) {
  const std::vector<StoredLock> locks = on_members(name);
  note_ended(locks);
  oracle.majority_carries(name, carried_by(locks, counting_),
                          carried_by(locks, counting_for_uninformed_));
}

}  // namespace distlock::sim
