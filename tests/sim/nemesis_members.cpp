#include "sim/nemesis.h"

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

void Nemesis::strike_member(Fault fault) {
  if (world_.members.empty()) return;
  const std::size_t number = random_.below(world_.members.size());
  Servers& member = world_.members[number]->servers;
  const Time now = world_.scheduler.now();
  const Time until = now + random_.between(Time{0}, 2 * window());
  const bool for_good = fault == Fault::member_emptied || fault == Fault::member_exchanged;
  if (for_good) {
    // A minority at most, since nobody takes them back.
    if (gone_ == world_.members.size() / 2) return;
    ++gone_;
  }
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
