#include <map>

#include "sim/sim_clock.h"
#include "sim/world.h"
#include "stores/mirrored/identity.h"

// The members of a mirrored store, and which of them count.
namespace distlock::sim {
namespace {

// As a member that one process founded.
void make_member(MemoryTables& tables, const mirrored::SetTerms& terms,
                 const mirrored::Place& place) {
  Token token = terms.set;
  token.bytes[11] = static_cast<std::uint8_t>(place.number + 1);
  const StoreNow now{StoreTime{kEpoch}, "founding"};
  const Claim claim = mirrored::identity_claim(token, terms, place, now);
  tables.claim(mirrored::kIdentityName, FromAbsent{}, claim, now);
}

}  // namespace

MemoryTables World::of_another_set(std::size_t number) const {
  MemoryTables tables;
  make_member(tables, {Token{{9}}, setup.longest_window(), {}}, {number, setup.members});
  return tables;
}

void World::add_members() {
  oracle.judge_a_mirrored_store();
  counting_.assign(setup.members, true);
  const mirrored::SetTerms terms{kSet, setup.longest_window(), {}};
  for (std::size_t i = 0; i < setup.members; ++i) {
    SimMember& member = *members.emplace_back(std::make_unique<SimMember>(
        setup, i, scheduler, faults, trace, call_limit(), random.fork()));
    member.servers.meddle("", [&](MemoryTables& tables) {
      make_member(tables, terms, {i, setup.members});
    });
    member.oracle.on_change([this](const std::string& name, const StoredLock& after) {
      if (name == mirrored::kIdentityName) return note_counting();
      if (after.taken && after.ts) oracle.claim_of_member(after);
      tell_majority(name);
    });
  }
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
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (const auto identity = identity_of(i)) known = mirrored::merged(known, identity->returns);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto identity = identity_of(i);
    counting_[i] =
        identity && mirrored::returns_at(identity->returns, i) >= mirrored::returns_at(known, i);
  }
}

// Free, unless a majority carries one hold.
void World::tell_majority(const std::string& name) {
  StoredLock carried;
  carried.exists = carried.sound = true;
  std::map<Token, std::size_t> carriers;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const StoredLock lock = stored_lock(members[i]->servers.tables().raw_lock(name));
    if (!lock.taken || !lock.ts || !counts(i)) continue;
    if (++carriers[*lock.ts] > setup.members / 2) carried = lock;
  }
  oracle.majority_carries(name, carried);
}

}  // namespace distlock::sim
