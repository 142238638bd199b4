#include "sim/nemesis.h"

#include <algorithm>
#include <array>

namespace distlock::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr std::array kOfProcesses{Fault::crash,
                                  Fault::restart,
                                  Fault::pause_short,
                                  Fault::suspend,
                                  Fault::pause_beyond_lease,
                                  Fault::pinger_paused};
constexpr std::array kOfClocks{Fault::wall_ahead,         Fault::wall_behind,
                               Fault::wall_steps_forward, Fault::wall_steps_back,
                               Fault::store_steps_under,  Fault::store_steps_above};
constexpr std::array kOfTheStore{Fault::failover_keeping, Fault::failover_dropping,
                                 Fault::store_away, Fault::store_refuses};
constexpr std::array kOfDocuments{Fault::operator_break,  Fault::malformed_document,
                                  Fault::lock_deleted,    Fault::ping_deleted,
                                  Fault::token_collision, Fault::field_edited};
constexpr std::array kOfLines{Fault::place_lost, Fault::stranger_in_line, Fault::line_malformed};

template <std::size_t N>
bool contains(const std::array<Fault, N>& faults, Fault fault) {
  return std::find(faults.begin(), faults.end(), fault) != faults.end();
}

}  // namespace

Nemesis::Nemesis(World& world)
    : world_(world),
      random_(world.random.fork()),
      member_off_(Servers::kMembers, milliseconds{0}),
      random_of_returns_(world.setup.seed ^ 0x4e71) {
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    const bool ours = contains(kOfProcesses, fault) || contains(kOfClocks, fault) ||
                      contains(kOfTheStore, fault) || contains(kOfDocuments, fault) ||
                      contains(kOfLines, fault) ||
                      (of_a_member(fault) && fault != Fault::return_undone);
    if (ours && has(world.setup.faults, fault)) faults_.push_back(fault);
  }
  walls_follow_ = !has(world.setup.faults, Fault::restart) && random_.chance(0.5);
}

Time Nemesis::window() const { return world_.setup.longest_window(); }

void Nemesis::set_the_scene() {
  if (world_.faults.enabled(Fault::members_apart)) {
    constexpr std::array kApart{hours{0}, hours{1}, hours{11}};
    world_.faults.note(Fault::members_apart);
    for (auto& off : member_off_) {
      off = kApart[random_.below(kApart.size())] +
            random_.between(milliseconds{0}, milliseconds{90'000});
      if (random_.chance(0.5)) off = -off;
    }
  }
  for (Servers* servers : world_.all_servers()) {
    for (std::size_t i = 0; i < Servers::kMembers; ++i) {
      servers->set_clock_off(i, member_off_[i]);
      if (world_.faults.enabled(Fault::drift)) {
        servers->set_clock_rate(i, 1 + (static_cast<double>(random_.below(401)) - 200) * 1e-6);
      }
    }
  }
  set_members_apart();
  if (world_.faults.enabled(Fault::foreign_cleanup)) leave_old_pings(some_servers());
}

void Nemesis::leave_old_pings(Servers& servers) {
  world_.faults.note(Fault::foreign_cleanup);
  const StoreNow now = servers.now();
  servers.meddle("", [&](MemoryTables& tables) {
    tables.put_ping({{"_id", std::string("gone:1:1")},
                     {"ping", now.time - std::chrono::days{6}},
                     {"clock", now.clock}});
  });
  leave_a_dead_hold(servers);
}

// Of a process that died long ago: its ping must stay, and the lock be had.
void Nemesis::leave_a_dead_hold(Servers& servers) {
  const StoreNow now = servers.now();
  const std::string name = world_.lock_name(0);
  const bool ages_ago = random_.chance(0.3);
  const StoreTime last =
      now.time - (ages_ago ? std::chrono::days{150 * 365} : std::chrono::days{7});
  servers.meddle(name, [&](MemoryTables& tables) {
    tables.put_ping({{"_id", std::string("dead:1:1")}, {"ping", last}, {"clock", now.clock}});
    tables.put_lock({{"_id", name},
                     {"state", 1},
                     {"process", std::string("dead:1:1")},
                     {"who", std::string("dead:1:1:1:1")},
                     {"why", std::string("died")},
                     {"when", last},
                     {"ts", Token{{1, 2, 3}}}});
  });
}

void Nemesis::work() {
  if (faults_.empty()) return;
  Scheduler& scheduler = world_.scheduler;
  const Time pause = window() / static_cast<std::int64_t>(1 + random_.below(6));
  while (scheduler.now() < world_.setup.horizon) {
    scheduler.rest_until(scheduler.now() + random_.between(Time{0}, 2 * pause));
    if (ended_) return;
    if (scheduler.now() < world_.setup.horizon) strike(faults_[random_.below(faults_.size())]);
  }
}

void Nemesis::strike(Fault fault) {
  if (contains(kOfProcesses, fault)) return strike_process(fault);
  if (contains(kOfClocks, fault)) return strike_clock(fault);
  if (contains(kOfTheStore, fault)) return strike_store(fault);
  if (of_a_member(fault)) return strike_member(fault);
  if (of_the_line(fault)) return strike_line(fault);
  strike_documents(fault);
}

// Processes.

SimProcess* Nemesis::somebody() {
  std::vector<SimProcess*> alive;
  for (const auto& process : world_.processes) {
    if (process->alive() && !process->ending()) alive.push_back(process.get());
  }
  return alive.empty() ? nullptr : alive[random_.below(alive.size())];
}

void Nemesis::strike_process(Fault fault) {
  if (fault == Fault::restart) {
    for (const auto& process : world_.processes) {
      if (process->dead() || !process->alive()) return restart(*process);
    }
    return;
  }
  SimProcess* process = somebody();
  if (process == nullptr) return;
  switch (fault) {
    case Fault::pinger_paused:
      world_.faults.note(fault);
      return process->pause_pinger(world_.scheduler.now() + random_.between(Time{0}, 2 * window()));
    case Fault::suspend:
      return fall_upon(*process, fault, random_.between(Time{hours{1}}, Time{hours{12}}));
    case Fault::pause_beyond_lease:
      return fall_upon(*process, fault, random_.between(window() / 2, 3 * window()));
    default:
      return fall_upon(*process, fault, random_.between(Time{0}, window() / 4));
  }
}

void Nemesis::fall_upon(SimProcess& process, Fault fault, Time duration) {
  if (random_.chance(0.6)) {
    return process.ambush(fault, 1 + static_cast<int>(random_.below(12)), duration);
  }
  world_.faults.note(fault);
  if (fault == Fault::crash) return process.crash();
  if (fault == Fault::pause_short || world_.oracle.someone_believes(process.id())) {
    world_.faults.mattered(fault);
  }
  process.pause(world_.scheduler.now() + duration);
}

void Nemesis::restart(SimProcess& process) {
  if (world_.processes.size() > 12) return;
  world_.faults.note(Fault::restart);
  if (!world_.all_servers().front()->tables().holds(process.id()).empty())
    world_.faults.mattered(Fault::restart);
  SimProcess& next = world_.add_process(process.host(), process.options());
  next.start(world_.setup.workers, world_.setup.locks);
}

// Clocks.

void Nemesis::strike_clock(Fault fault) {
  if (fault == Fault::store_steps_under || fault == Fault::store_steps_above) {
    return step_store_clock(fault == Fault::store_steps_above);
  }
  SimProcess* process = somebody();
  if (process == nullptr) return;
  world_.faults.note(fault);
  if (world_.oracle.now_stored(world_.lock_name(0)).taken) world_.faults.mattered(fault);
  const milliseconds off = random_.between(milliseconds{1}, milliseconds{hours{20}}) /
                           static_cast<std::int64_t>(1 + random_.below(100'000));
  const bool steps = fault == Fault::wall_steps_forward || fault == Fault::wall_steps_back;
  const bool ahead = fault == Fault::wall_ahead || fault == Fault::wall_steps_forward;
  const milliseconds before = steps ? process->clock().wall_off() : milliseconds{0};
  process->set_wall_off(before + (ahead ? off : -off));
}

bool Nemesis::all_will_see_a_step(std::size_t number) const {
  const std::string clock = world_.all_servers()[number]->now().clock;
  return std::all_of(world_.processes.begin(), world_.processes.end(), [&](const auto& process) {
    return !process->alive() || process->stores()[number]->has_read(clock);
  });
}

void Nemesis::step_store_clock(bool above) {
  const std::size_t number = some_member();
  Servers& servers = *world_.all_servers()[number];
  if (servers.kind() == StoreKind::steady) return;
  const std::size_t member = servers.primary_member();
  const milliseconds tolerance = world_.setup.tolerance();
  milliseconds off = random_.between(-tolerance, tolerance) * 98 / 100;
  if (above) {
    // Once, and for good. A process that lives through it sees it; a later one has its wall clock
    // to see it by.
    if (stepped_above_ || (walls_follow_ && !all_will_see_a_step(number))) return;
    stepped_above_ = true;
    off = tolerance + random_.between(tolerance / 8, milliseconds{hours{5}});
    if (random_.chance(0.5)) off = -off;
    servers.oracle().clocks_beyond_tolerance();
    if (walls_follow_) {
      for (const auto& process : world_.processes) process->set_wall_off(off);
    }
  }
  const Fault fault = above ? Fault::store_steps_above : Fault::store_steps_under;
  world_.faults.note(fault);
  if (world_.oracle.someone_valid(world_.lock_name(0))) world_.faults.mattered(fault);
  world_.trace.say("store", [&] {
    return "has its clock step to " + std::to_string(off.count()) + " ms from where it was";
  });
  servers.set_clock_off(member, member_off_[member] + off);
}

// The store.

void Nemesis::strike_store(Fault fault) {
  Servers& servers = some_servers();
  const Time now = world_.scheduler.now();
  if (fault == Fault::store_away || fault == Fault::store_refuses) {
    world_.faults.note(fault);
    Time duration = random_.between(Time{0}, 2 * window());
    if (random_.chance(0.05)) duration = std::chrono::days{2};
    if (fault == Fault::store_away) return servers.go_away(now + duration);
    if (random_.chance(0.5)) return servers.refuse_claims(now + duration);
    return servers.refuse_writes(now + duration);
  }
  if (servers.kind() != StoreKind::replica_set) return;
  world_.faults.note(fault);
  if (world_.faults.enabled(Fault::old_primary)) {
    servers.keep_old_primary(now + random_.between(Time{0}, 3 * window()));
  }
  servers.fail_over(fault == Fault::failover_keeping);
}

void Nemesis::make_peace() {
  world_.faults.cease();
  for (Servers* servers : world_.all_servers()) servers->heal();
  world_.tell_majorities();
  for (const auto& process : world_.processes) {
    for (const auto& store : process->stores()) store->cut_off(Time{0});
  }
  world_.scheduler.end_pauses();
  for (const auto& process : world_.processes) process->clock().set_wall_off(milliseconds{0});
  for (const std::string& name : spoiled_) {
    mend_line(name);
    for (Servers* servers : world_.all_servers()) mend(*servers, name);
  }
}

}  // namespace distlock::sim
