#include "original/fleet_run.h"

#include "original/judge.h"
#include "original/judge_of_three.h"
#include "original/original_process.h"

namespace distlock::original {
namespace {

using sim::Fault;
using sim::Random;
using sim::Time;

constexpr std::array kOfRequests{Fault::lost_request, Fault::lost_reply, Fault::late_request,
                                 Fault::doubled_request, Fault::late_reply};
constexpr std::array kOfProcesses{
    Fault::crash,         Fault::restart,    Fault::pause_short, Fault::pause_beyond_lease,
    Fault::pinger_paused, Fault::wall_ahead, Fault::wall_behind};

// The one of three servers that loses its data, or has its clock set ahead. Two would be a
// majority.
constexpr std::size_t kUnlucky = 1;

std::vector<Fault> faults_of_servers(Algorithm algorithm) {
  if (algorithm == Algorithm::original) return {};
  if (algorithm == Algorithm::tournament) return {Fault::member_lost};
  return {Fault::member_lost, Fault::member_emptied, Fault::store_steps_above};
}

class Run {
 public:
  Run(const FleetSetup& setup, std::ostream* trace_to)
      : setup_(setup),
        world_(setup.world, trace_to),
        random_(world_.random.fork()),
        judge_(world_.scheduler, world_.trace, window()),
        judge_of_three_(setup.algorithm, world_.scheduler, world_.trace, window()) {
    for (const Fault fault : kOfProcesses) {
      if (world_.faults.enabled(fault)) faults_.push_back(fault);
    }
    for (const Fault fault : faults_of_servers(setup.algorithm)) {
      if (world_.faults.enabled(fault)) faults_.push_back(fault);
    }
    if (has_three()) add_servers();
  }

  Findings findings() {
    for (int i = 0; i < setup_.world.processes; ++i) add("host" + std::to_string(i));
    world_.scheduler.spawn(outside_, "nemesis", [this] { befall(); });
    until(setup_.world.horizon);
    settle();
    judge_leftovers();
    end();
    return has_three() ? judge_of_three_.findings() : judge_.findings();
  }

 private:
  Time window() const { return std::chrono::minutes{setup_.constants.takeover_minutes + 1}; }

  void until(Time end) {
    world_.scheduler.run(end, [] { return false; });
  }

  void add(const std::string& host) {
    perhaps_set_clock(made(host));
    processes_.back()->start(setup_.world.workers, setup_.together);
  }

  OriginalProcess& made(const std::string& host) {
    Witness& witness = has_three() ? static_cast<Witness&>(judge_of_three_) : judge_;
    const OriginalProcess::Site site{setup_.algorithm, servers(), setup_.constants};
    return *processes_.emplace_back(std::make_unique<OriginalProcess>(world_, host, site, witness));
  }

  bool has_three() const { return servers_of(setup_.algorithm) > 1; }

  void add_servers() {
    for (std::size_t i = 0; i < servers_of(setup_.algorithm); ++i) {
      servers_.push_back(std::make_unique<sim::SimMember>(setup_.world, i, world_.scheduler,
                                                          world_.faults, world_.trace,
                                                          setup_.world.call_limit, random_.fork()));
    }
  }

  std::vector<sim::Servers*> servers() {
    std::vector<sim::Servers*> all;
    for (const auto& one : servers_) all.push_back(&one->servers);
    if (all.empty()) all.push_back(&world_.servers);
    return all;
  }

  void perhaps_set_clock(OriginalProcess& process) {
    for (const Fault fault : {Fault::wall_ahead, Fault::wall_behind}) {
      if (world_.faults.enabled(fault) && random_.chance(0.3)) strike(process, fault);
    }
  }

  // Lets faults happen to the processes, until the horizon.
  void befall() {
    if (faults_.empty()) return;
    const Time pause = window() / static_cast<std::int64_t>(1 + random_.below(6));
    while (true) {
      world_.scheduler.rest_until(world_.scheduler.now() + random_.between(Time{0}, 2 * pause));
      if (world_.scheduler.now() >= setup_.world.horizon) return;
      OriginalProcess& process = *processes_[random_.below(processes_.size())];
      const Fault fault = faults_[random_.below(faults_.size())];
      if (of_a_server(fault)) {
        strike_server(fault);
        continue;
      }
      if (process.dead() == (fault == Fault::restart)) strike(process, fault);
    }
  }

  void strike(OriginalProcess& process, Fault fault) {
    world_.faults.note(fault);
    const int points = 1 + static_cast<int>(random_.below(12));
    const Time now = world_.scheduler.now();
    switch (fault) {
      case Fault::crash:
        return random_.chance(0.3) ? process.crash() : process.ambush(points, {});
      case Fault::restart:
        return processes_.size() < 8 ? add(process.host()) : void();
      case Fault::pause_short:
        return process.ambush(points, random_.between(Time{0}, window() / 4));
      case Fault::pause_beyond_lease:
        return process.ambush(points, random_.between(window() / 2, 3 * window()));
      case Fault::pinger_paused:
        return process.pause_pinger(now + random_.between(Time{0}, 2 * window()));
      default:
        return process.set_wall_off(fault == Fault::wall_ahead ? some_skew() : -some_skew());
    }
  }

  static bool of_a_server(Fault fault) {
    return sim::of_a_member(fault) || fault == Fault::store_steps_above;
  }

  void strike_server(Fault fault) {
    world_.faults.note(fault);
    const bool away = fault == Fault::member_lost;
    const std::size_t number = away ? random_.below(servers_.size()) : kUnlucky;
    sim::Servers& server = servers_[number]->servers;
    const Time a_while = random_.between(Time{0}, 2 * window());
    switch (fault) {
      case Fault::member_lost:
        judge_of_three_.server_is_away(world_.scheduler.now() + a_while);
        return server.go_away(world_.scheduler.now() + a_while);
      case Fault::member_emptied:
        judge_of_three_.server_was_emptied(number);
        return server.become({});
      default:
        world_.trace.say("server", [&] {
          return "has the clock of member " + std::to_string(number) + " set " +
                 sim::text_of(a_while) + " ahead";
        });
        return server.set_clock_off(0, std::chrono::floor<std::chrono::milliseconds>(a_while));
    }
  }

  // From seconds to a week.
  std::chrono::milliseconds some_skew() {
    const std::chrono::milliseconds most = std::chrono::days{7};
    return random_.between(std::chrono::milliseconds{1}, most) /
           static_cast<std::int64_t>(1 + random_.below(random_.chance(0.5) ? 2 : 2000));
  }

  // The faults are over: who lives unlocks, and pings on; the dead are taken over from if anybody
  // can.
  void settle() {
    world_.trace.say("world", [] { return "the faults are over"; });
    world_.faults.cease();
    for (const auto& server : servers_) server->servers.heal();
    for (const auto& process : processes_) process->stop_working();
    until(world_.scheduler.now() + window() + 20 * Time{setup_.world.call_limit});
  }

  void judge_leftovers() {
    const Time since = world_.scheduler.now();
    if (has_three()) probe();
    for (int i = 0; i < setup_.world.locks; ++i) {
      const std::string name = world_.lock_name(static_cast<std::uint64_t>(i));
      for (const sim::Servers* const server : servers()) {
        const auto stored = sim::stored_lock(server->tables().raw_lock(name));
        if (!has_three())
          judge_.judge_leftover(name, stored);
        else if (!judge_of_three_.was_got(name, since))
          judge_of_three_.judge_leftover(name, stored);
      }
    }
  }

  // Nothing goes wrong, and one more process tries for two windows to get each lock.
  void probe() {
    made("prober").start(setup_.world.locks, false);
    until(world_.scheduler.now() + 2 * window());
  }

  void end() {
    for (const auto& process : processes_) process->crash();
    until(sim::kNever - Time{1});
  }

  const FleetSetup setup_;
  sim::World world_;
  Random random_;
  Judge judge_;
  JudgeOfThree judge_of_three_;
  std::vector<std::unique_ptr<sim::SimMember>> servers_;  // if there are three
  std::vector<std::unique_ptr<OriginalProcess>> processes_;
  std::vector<Fault> faults_;
  sim::FiberGroup outside_;
};

sim::FaultSet faults_of(Algorithm algorithm, Random& random) {
  sim::FaultSet set;
  const auto draw = [&](const auto& faults) {
    for (const Fault fault : faults) {
      set[static_cast<std::size_t>(fault)] = random.chance(0.3);
    }
  };
  draw(kOfRequests);
  draw(kOfProcesses);
  draw(faults_of_servers(algorithm));
  return set;
}

}  // namespace

// With draws of its own: what the docs quote must not change with the options of our own processes.
FleetSetup fleet_setup_from(Algorithm algorithm, std::uint64_t seed,
                            const sim::Narrowing& narrowing) {
  Random random(seed);
  FleetSetup setup;
  setup.algorithm = algorithm;
  constexpr std::array kMinutes{1, 2, 15};
  setup.constants.takeover_minutes = kMinutes[random.below(kMinutes.size())];
  setup.together = random.chance(0.3);
  const Time window = std::chrono::minutes{setup.constants.takeover_minutes + 1};
  const int processes = 2 + static_cast<int>(random.below(3));
  const int workers = 1 + static_cast<int>(random.below(2));
  const Time horizon = window * static_cast<std::int64_t>(2 + random.below(3));

  sim::Setup& world = setup.world;
  world.seed = seed;
  world.locks = 1 + static_cast<int>(random.below(2));
  world.call_limit = std::chrono::seconds{10};
  const sim::FaultSet faults = faults_of(algorithm, random);
  world.faults = narrowing.faults.value_or(faults);
  world.processes = std::min(narrowing.processes.value_or(processes), processes);
  world.workers = narrowing.workers.value_or(workers);
  world.horizon = narrowing.horizon.value_or(horizon);
  return setup;
}

Findings run(const FleetSetup& setup, std::ostream* trace_to) {
  return Run(setup, trace_to).findings();
}

}  // namespace distlock::original
