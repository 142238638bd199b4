#include "sim/nemesis.h"
#include "stores/mirrored/identity.h"

// The misfortunes of the members of a mirrored store.
namespace distlock::sim {

// Clocks of one name that nobody can step, as those of SQLite files on one machine.
void Nemesis::set_members_apart() {
  using namespace std::chrono_literals;
  if (world_.setup.store != StoreKind::steady) return;
  for (const auto& member : world_.members) {
    const std::chrono::milliseconds off =
        random_.between(std::chrono::milliseconds{-5h}, std::chrono::milliseconds{5h});
    for (std::size_t i = 0; i < Servers::kMembers; ++i) member->servers.set_clock_off(i, off);
  }
}

Servers& Nemesis::some_servers() {
  if (world_.members.empty()) return world_.servers;
  return world_.members[random_.below(world_.members.size())]->servers;
}

bool Nemesis::counts(std::size_t number) const {
  const Servers& servers = world_.members[number]->servers;
  const Inspection seen = servers.tables().inspect(mirrored::kIdentityName, servers.now());
  const auto identity = mirrored::identity_in(seen, {number, world_.members.size()});
  return identity && identity->set == World::kSet;
}

std::size_t Nemesis::gone() const {
  std::size_t gone = 0;
  for (std::size_t i = 0; i < world_.members.size(); ++i) gone += counts(i) ? 0 : 1;
  return gone;
}

void Nemesis::strike_member(Fault fault) {
  if (world_.members.empty()) return;
  const std::size_t number = random_.below(world_.members.size());
  Servers& member = world_.members[number]->servers;
  const Time now = world_.scheduler.now();
  const Time until = now + random_.between(Time{0}, 2 * window());
  const bool for_good = fault == Fault::member_emptied || fault == Fault::member_exchanged;
  // A minority at most: a majority that loses its data is a new set. A member that is kept out may
  // be emptied again.
  if (for_good && counts(number) && gone() == world_.members.size() / 2) return;
  world_.faults.note(fault);
  if (world_.oracle.someone_valid(world_.lock_name(0))) world_.faults.mattered(fault);
  switch (fault) {
    case Fault::member_lost:
      return member.go_away(now + std::chrono::days{30});
    case Fault::member_slow:
      return member.be_slow(until);
    case Fault::member_emptied:
      member.become({});
      return world_.tell_majorities();
    case Fault::member_exchanged:
      member.become(world_.of_another_set(number));
      return world_.tell_majorities();
    default:
      if (SimProcess* process = somebody()) process->stores()[number]->cut_off(until);
  }
}

}  // namespace distlock::sim
