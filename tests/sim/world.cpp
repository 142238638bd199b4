#include "sim/world.h"

#include <algorithm>

#include "distlock/distributed_lock.h"
#include "sim/nemesis.h"
#include "sim/original_rival.h"
#include "stores/mirrored/identity.h"

namespace distlock::sim {
namespace {

// From the end of all faults on. Contenders have a window to watch, or to wait for, and a hold that
// was just pinged ends a window later.
Time time_to_settle(const Setup& setup) {
  return 3 * Time{setup.longest_window()} + 20 * Time{setup.call_limit} +
         10 * Time{setup.pinger.ping_every};
}

class Run {
 public:
  Run(const Setup& setup, std::ostream* trace_to)
      : world_(setup, trace_to), nemesis_(world_), rival_(world_) {}

  Outcome outcome() {
    events_so_far() = {};
    nemesis_.set_the_scene();
    if (!steps(world_.setup.faults)) {
      world_.oracle.clocks_are_exact();
      for (const auto& member : world_.members) member->oracle.clocks_are_exact();
    }
    start();
    until(world_.setup.horizon);
    settle();
    check_every_lock_is_obtainable();
    if (world_.setup.long_end) check_cleanup();
    check_everything_ended();
    const auto takeovers = static_cast<std::size_t>(Event::forcefully_taking_over);
    if (events_so_far().happened[takeovers] > 0 && has(world_.setup.faults, Fault::drift)) {
      world_.faults.mattered(Fault::drift);
    }
    return {world_.oracle.violation(), world_.faults.counts(), events_so_far(),
            world_.scheduler.steps()};
  }

 private:
  static bool steps(const FaultSet& faults) {
    return has(faults, Fault::store_steps_under) || has(faults, Fault::store_steps_above) ||
           has(faults, Fault::drift) || has(faults, Fault::slow_command);
  }

  bool violated() const { return world_.oracle.violation().has_value(); }

  void until(Time end) {
    world_.scheduler.run(end, [this] {
      world_.oracle.check_now();
      if (world_.scheduler.now() >= world_.setup.violated_at) {
        world_.oracle.violate("a violation was asked for");
      }
      for (const auto& member : world_.members) {
        if (member->oracle.violation()) world_.oracle.violate(*member->oracle.violation());
      }
      if (world_.scheduler.escaped()) world_.oracle.violate(*world_.scheduler.escaped());
      return violated();
    });
  }

  void start() {
    for (int i = 0; i < world_.setup.processes; ++i) {
      SimProcess& process = world_.add_process(
          "host" + std::to_string(i), world_.setup.lock_options[static_cast<std::size_t>(i)]);
      process.start(world_.setup.workers, world_.setup.locks);
      if (i == 0) process.stop_at(world_.setup.first_stops_at);
    }
    rival_.start();
    world_.scheduler.spawn(outside_, "nemesis", [this] { nemesis_.work(); });
    if (has(world_.setup.faults, Fault::return_undone) && !world_.members.empty()) {
      world_.scheduler.spawn(outside_, "nemesis of returns", [this] { nemesis_.undo_returns(); });
    }
  }

  // The faults are over. Living processes give up their holds, stop their pingers, and must end.
  void settle() {
    if (violated()) return;
    nemesis_.make_peace();
    rival_.stop_working();
    world_.trace.say("world", [] { return "the faults are over"; });
    check_nothing_is_stray();
    if (violated()) return;
    for (const auto& process : world_.processes) {
      process->end_soon();
      world_.scheduler.wake_all(process->group());
    }
    until(world_.scheduler.now() + time_to_settle(world_.setup));
    for (const auto& process : world_.processes) {
      if (violated() || process->dead()) continue;
      if (process->alive())
        return world_.oracle.violate(process->id() + " does not come to an end");
      check_nothing_left(*process);
    }
  }

  // For a while everybody goes on with nothing in the way: what a claim of unknown outcome left is
  // freed by then.
  void check_nothing_is_stray() {
    const Time patience = 4 * Time{world_.setup.pinger.ping_every} +
                          10 * Time{world_.setup.call_limit} + 2 * Time{world_.setup.tolerance()};
    until(world_.scheduler.now() + 2 * patience);
    const auto runs = [&](const std::string& id) {
      return std::any_of(world_.processes.begin(), world_.processes.end(),
                         [&](const auto& one) { return one->id() == id && one->alive(); });
    };
    if (!violated()) world_.oracle.check_nothing_is_stray(runs, patience);
  }

  void check_nothing_left(SimProcess& process) {
    if (!world_.members.empty()) return check_no_majority_left(process);
    for (const StoredHold& hold : world_.servers.tables().holds(process.id())) {
      if (world_.oracle.excused(hold.ts) || process.pinger()->stats().pending_releases > 0)
        continue;
      world_.oracle.violate(process.id() + " ended and left " + hold.name + " taken");
    }
  }

  void check_no_majority_left(SimProcess& process) {
    for (int i = 0; i < world_.setup.locks; ++i) {
      const std::string name = world_.lock_name(static_cast<std::uint64_t>(i));
      const StoredLock& stored = world_.oracle.now_stored(name);
      if (!stored.taken || stored.process != process.id()) continue;
      if (world_.oracle.excused(*stored.ts) && !world_.oracle.claimed_by(process.id(), *stored.ts))
        continue;
      if (process.pinger()->stats().pending_releases > 0) continue;
      world_.oracle.violate(process.id() + " ended and left " + name + " taken");
    }
  }

  // A free lock at once, a dead one within the window and what it takes to watch it (liveness).
  void check_every_lock_is_obtainable() {
    if (violated()) return;
    free_what_only_people_can();
    LockOptions options;
    options.takeover_after = world_.setup.longest_window();
    options.poll_max = world_.setup.pinger.ping_every;
    if (clock_is_wrong()) options.takeover_rule = TakeoverRule::watched;
    SimProcess& prober = world_.add_process("prober", options);
    int got = 0;
    world_.scheduler.spawn(prober.group(), "prober", [&] {
      for (int i = 0; i < world_.setup.locks; ++i) got += obtain(prober, i) ? 1 : 0;
      prober.pinger()->stop();
    });
    until(world_.scheduler.now() + world_.setup.locks * 2 * time_to_settle(world_.setup));
    if (violated() || got == world_.setup.locks) return;
    world_.oracle.violate("a lock is not obtainable although nothing goes wrong any more");
  }

  bool obtain(SimProcess& prober, int number) {
    DistributedLock lock(prober.pinger(), world_.lock_name(static_cast<std::uint64_t>(number)),
                         prober.options());
    return lock.try_lock_for(time_to_settle(world_.setup));
  }

  bool clock_is_wrong() {
    const auto all = world_.all_servers();
    return std::any_of(all.begin(), all.end(), [&](const Servers* one) { return is_off(*one); });
  }
  bool is_off(const Servers& servers) const {
    const StoreNow now = servers.now();
    const auto truth = std::chrono::floor<std::chrono::milliseconds>(world_.scheduler.now());
    const auto off = now.time.time_since_epoch() - kEpoch - truth;
    return !now.steady && std::chrono::abs(off) > world_.setup.tolerance() * 9 / 10;
  }

  // A hold without a ping is refused to everybody (R7), and so is one with a ping of the future.
  void free_what_only_people_can() {
    rival_.end();
    if (!outsiders_left_holds()) return;
    for (int i = 0; i < world_.setup.locks; ++i) {
      const std::string name = world_.lock_name(static_cast<std::uint64_t>(i));
      for (Servers* servers : world_.all_servers()) free_what_only_people_can(*servers, name);
    }
  }

  // A minority of members keeps nobody out, whatever is left there.
  bool outsiders_left_holds() const {
    const FaultSet& faults = world_.setup.faults;
    return world_.members.empty() || has(faults, Fault::original_process) ||
           has(faults, Fault::ping_deleted) || has(faults, Fault::store_steps_above);
  }

  void free_what_only_people_can(Servers& servers, const std::string& name) {
    const StoredLock stored = stored_lock(servers.tables().raw_lock(name));
    const bool pinged = servers.tables().raw_ping(stored.process).has_value();
    if (!stored.taken || (pinged && !rival_.left(stored))) return;
    servers.meddle(name, [&](MemoryTables& tables) {
      tables.put_lock({{"_id", name}, {"state", 0}, {"who", std::string()}});
    });
  }

  // The pings of the dead go after four days, and one more if by another clock (R13).
  void check_cleanup() {
    if (violated()) return;
    world_.scheduler.run(world_.scheduler.now() + std::chrono::days{6}, [] { return false; });
    SimProcess& cleaner = world_.add_process("cleaner", world_.setup.lock_options.front());
    world_.scheduler.spawn(cleaner.group(), "cleaner", [&] {
      cleaner.pinger()->ping_round();
      cleaner.pinger()->stop();
    });
    until(world_.scheduler.now() + time_to_settle(world_.setup));
    for (const Servers* const servers : world_.all_servers()) {
      const MemoryTables& tables = servers->tables();
      for (const auto& process : world_.processes) {
        if (!tables.raw_ping(process->id()) || !tables.holds(process->id()).empty()) continue;
        world_.oracle.violate("the ping of " + process->id() + " is never removed");
      }
    }
  }

  // After a violation the faults may be far from over.
  void check_everything_ended() {
    nemesis_.end();
    rival_.end();
    for (const auto& process : world_.processes) process->crash();
    world_.scheduler.run(kNever - Time{1}, [] { return false; });
    for (const std::string& name : world_.scheduler.unfinished()) {
      world_.oracle.violate("the fiber of " + name + " never ended");
    }
  }

  World world_;
  Nemesis nemesis_;
  OriginalRival rival_;
  FiberGroup outside_;
};

}  // namespace

World::World(const Setup& given, std::ostream* trace_to)
    : setup(given),
      random(given.seed ^ 0x5eed),
      scheduler(random.next()),
      faults(given.faults, random.fork()),
      oracle(scheduler),
      trace(scheduler, trace_to),
      servers(given.store, scheduler, faults, oracle, trace, given.call_limit, random.fork()) {
  if (given.members > 0) add_members();
}

// The mirrored store allows four calls of a member for one of its own.
std::chrono::milliseconds World::call_limit() const {
  return setup.members > 0 ? setup.call_limit / 4 : setup.call_limit;
}

std::vector<Servers*> World::all_servers() {
  std::vector<Servers*> all;
  for (const auto& member : members) all.push_back(&member->servers);
  if (all.empty()) all.push_back(&servers);
  return all;
}

SimProcess& World::add_process(const std::string& host, const LockOptions& options) {
  return *processes.emplace_back(std::make_unique<SimProcess>(*this, host, options));
}

Outcome run(const Setup& setup, std::ostream* trace_to) { return Run(setup, trace_to).outcome(); }

}  // namespace distlock::sim
