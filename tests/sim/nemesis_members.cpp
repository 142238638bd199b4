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

std::size_t Nemesis::some_member() {
  return world_.members.empty() ? 0 : random_.below(world_.members.size());
}

Servers& Nemesis::some_servers() { return *world_.all_servers()[some_member()]; }

std::size_t Nemesis::gone() const {
  std::size_t gone = 0;
  for (std::size_t i = 0; i < world_.members.size(); ++i) gone += world_.counts_for_good(i) ? 0 : 1;
  return gone;
}

// A minority may lose its data at most: a majority that does is a new set. A member that is kept
// out may be emptied again.
bool Nemesis::is_one_too_many(std::size_t number) const {
  return world_.counts(number) && gone() >= world_.members.size() / 2;
}

// A member that counts must not get an earlier copy of these data: nobody could tell.
bool Nemesis::has_data_of_before(std::size_t number) const {
  const auto lost = lost_.find(number);
  if (lost == lost_.end()) return false;
  return !world_.counts(number) || world_.identity_of(number)->token != lost->second.identity;
}

void Nemesis::exchange(std::size_t number, const MemoryTables& data) {
  Servers& member = world_.members[number]->servers;
  const auto identity = world_.identity_of(number);
  const Lost lost{member.tables(), identity ? identity->token : Token{}};
  if (world_.counts(number)) lost_.insert_or_assign(number, lost);
  member.become(data);
  for (int i = 0; i < world_.setup.locks; ++i) {
    const std::string name = world_.lock_name(static_cast<std::uint64_t>(i));
    world_.members[number]->oracle.became(name, stored_lock(data.raw_lock(name)));
  }
  world_.tell_majorities();
}

// Its server is stopped for longer than a call of the mirrored store, as M6 wants it, on any clock
// that drifts.
void Nemesis::when_stopped(std::size_t number, const std::function<void()>& then) {
  const Time until = world_.scheduler.now() + stop();
  if (until >= world_.setup.horizon) return;
  world_.members[number]->servers.go_away(until);
  world_.scheduler.spawn(group_, "operator", [this, until, then] {
    world_.scheduler.rest_until(until);
    world_.tell_majorities();
    then();
  });
}

Time Nemesis::stop() const { return Time{world_.setup.call_limit} * 5 / 4; }

void Nemesis::bring_back(std::size_t number) {
  when_stopped(number, [this, number] {
    if (!has_data_of_before(number) || is_one_too_many(number)) return;
    exchange(number, MemoryTables(lost_.at(number).data));
  });
}

void Nemesis::strike_member(Fault fault) {
  if (world_.members.empty()) return;
  // A member that was told of a return may have put another one out.
  world_.tell_majorities();
  const std::size_t number = random_.below(world_.members.size());
  Servers& member = world_.members[number]->servers;
  const Time now = world_.scheduler.now();
  const Time until = now + random_.between(Time{0}, 2 * window());
  const bool for_good = fault == Fault::member_emptied || fault == Fault::member_exchanged ||
                        fault == Fault::member_of_before;
  if (for_good && is_one_too_many(number)) return;
  if (fault == Fault::member_of_before && !has_data_of_before(number)) return;
  world_.faults.note(fault);
  if (world_.oracle.someone_valid(world_.lock_name(0))) world_.faults.mattered(fault);
  switch (fault) {
    case Fault::member_lost:
      return member.go_away(now + std::chrono::days{30});
    case Fault::member_slow:
      return member.be_slow(until);
    case Fault::member_emptied:
      return exchange(number, {});
    case Fault::member_exchanged:
      return exchange(number, world_.of_another_set(number));
    case Fault::member_of_before:
      return bring_back(number);
    default:
      if (SimProcess* process = somebody()) process->stores()[number]->cut_off(until);
  }
}

}  // namespace distlock::sim
