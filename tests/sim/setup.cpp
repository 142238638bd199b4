#include "sim/setup.h"

#include <algorithm>
#include <array>

namespace distlock::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Options as people choose them: the defaults, and leases of seconds.
struct Timing {
  milliseconds takeover_after;
  milliseconds ping_every;
  milliseconds call_limit;
};
constexpr std::array kTimings{
    Timing{std::chrono::minutes{16}, seconds{30}, seconds{10}},
    Timing{std::chrono::minutes{2}, seconds{15}, seconds{5}},
    Timing{seconds{20}, seconds{4}, seconds{1}},
    Timing{seconds{8}, seconds{1}, milliseconds{500}},
};

// Big steps of the store's clock are seen by wall clocks, so these must be right then, and the
// members' clocks together: the assumptions of docs/guarantees.md, promise 1.
void leave_out_what_is_not_promised(FaultSet& faults) {
  if (!has(faults, Fault::store_steps_above)) return;
  for (const Fault fault :
       {Fault::wall_ahead, Fault::wall_behind, Fault::wall_steps_forward, Fault::wall_steps_back,
        Fault::members_apart, Fault::store_steps_under}) {
    faults.reset(static_cast<std::size_t>(fault));
  }
}

// A round of pings takes many steps there, and most of the rounds in a long window are alike.
void ping_less_often(Setup& setup, const Timing& timing) {
  if (timing.takeover_after < 20 * timing.ping_every) return;
  if (!Random(setup.seed ^ 0x5100).chance(0.75)) return;
  setup.pinger.ping_every = timing.takeover_after / 8;
  for (LockOptions& options : setup.lock_options) {
    options.poll_min = setup.pinger.ping_every / 20;
    options.poll_max = options.recheck = setup.pinger.ping_every;
  }
}

// In most runs without outsiders that change documents of single members, and without big steps of
// a member's clock. Drawn apart, so that those runs stay what they were.
void leave_out_most_outsiders(Setup& setup) {
  constexpr std::array kOutsiders{Fault::operator_break,   Fault::foreign_cleanup,
                                  Fault::original_process, Fault::malformed_document,
                                  Fault::lock_deleted,     Fault::ping_deleted,
                                  Fault::token_collision,  Fault::store_steps_above};
  Random random(setup.seed ^ 0xd6c);
  const bool some = random.chance(0.3);
  for (const Fault fault : kOutsiders) {
    setup.faults.set(static_cast<std::size_t>(fault), some && random.chance(0.3));
  }
}

// Where nothing else goes wrong, a hold outlives what outsiders do to a minority of the members,
// and the oracle wants it so. Drawn apart, so that all other runs stay what they were.
void have_some_edited(Setup& setup) {
  Random random(setup.seed ^ 0xed17);
  if (!random.chance(0.05)) return;
  setup.faults.reset();
  setup.faults.set(static_cast<std::size_t>(Fault::field_edited));
  for (const Fault fault :
       {Fault::operator_break, Fault::lock_deleted, Fault::malformed_document, Fault::crash,
        Fault::restart, Fault::pause_short, Fault::pause_beyond_lease}) {
    setup.faults.set(static_cast<std::size_t>(fault), random.chance(0.25));
  }
}

void make_mirrored(Setup& setup) {
  leave_out_most_outsiders(setup);
  Random random(setup.seed ^ 0x3e3b);
  setup.members = random.chance(0.75) ? 3 : 5;
  setup.long_end = false;
  const double share = random.chance(0.2) ? 0 : 0.4;
  constexpr auto kLast = static_cast<std::size_t>(Fault::return_undone);
  for (std::size_t i = kFaultsOfOneStore; i < kLast; ++i) setup.faults[i] = random.chance(share);
  // Drawn apart, so that all other runs stay what they were.
  setup.faults[kLast] = Random(setup.seed ^ 0x4e73).chance(0.25);
  have_some_edited(setup);
}

// Several threads of a process on one lock, which they pass on. Drawn apart, so that all other runs
// stay what they were.
void make_some_hurry(Setup& setup) {
  Random random(setup.seed ^ 0x9a55);
  if (!random.chance(0.3)) return;
  setup.hurry = true;
  setup.workers = 2 + static_cast<int>(random.below(4));
  setup.locks = 1;
  setup.horizon /= 2;
  for (LockOptions& options : setup.lock_options) {
    if (random.chance(0.1)) options.pass_rule = PassRule::never;
  }
}

// Drawn apart, so that all other runs stay what they were.
void trouble_some_lines(Setup& setup) {
  Random random(setup.seed ^ 0x11e8);
  if (!random.chance(0.3)) return;
  if (random.chance(0.3)) setup.faults.reset();
  for (std::size_t i = kFaultsOfAll; i < kFaultsOfOneStore; ++i)
    setup.faults[i] = random.chance(0.5);
}

// Drawn apart, so that all other runs stay what they were.
void pause_some_when_granted(Setup& setup) {
  const bool some = Random(setup.seed ^ 0x9a05e).chance(0.15);
  setup.faults.set(static_cast<std::size_t>(Fault::pause_when_granted), some);
}

// Drawn apart, so that all other runs stay what they were.
void perhaps_stop_a_pinger(Setup& setup) {
  Random random(setup.seed ^ 0x570b);
  if (random.chance(0.1)) setup.first_stops_at = random.between(Time{0}, setup.horizon);
}

// As MongoDB. Drawn apart, so that all other runs stay what they were; and by a number that draws
// none of kept_seeds.txt.
void perhaps_tell_no_time_of_absent_locks(Setup& setup) {
  if (setup.store == StoreKind::steady) return;
  setup.absent_tells_time = !Random(setup.seed ^ 0x6b3).chance(0.5);
}

LockOptions lock_options(const Timing& timing, Random& random) {
  LockOptions options;
  options.takeover_after = timing.takeover_after;
  if (random.chance(0.2)) options.takeover_after *= 2;
  if (random.chance(0.1)) options.takeover_rule = TakeoverRule::watched;
  options.poll_min = timing.ping_every / 20;
  options.poll_max = timing.ping_every;
  options.recheck = timing.ping_every;
  if (random.chance(0.3)) options.wait_rule = WaitRule::polling;
  if (random.chance(0.2)) options.release_rule = ReleaseRule::durable;
  options.store_patience = timing.call_limit * 3;
  return options;
}

}  // namespace

milliseconds Setup::tolerance() const {
  milliseconds least = seconds{30};
  for (const LockOptions& options : lock_options) {
    least = std::min(least, options.takeover_after / 16);
  }
  return least;
}

milliseconds Setup::longest_window() const {
  milliseconds longest{0};
  for (const LockOptions& options : lock_options) {
    longest = std::max(longest, options.takeover_after);
  }
  return longest;
}

Setup setup_from(std::uint64_t seed, const Narrowing& narrowing) {
  Random random(seed);
  Setup setup;
  setup.seed = seed;
  setup.store = random.chance(0.35) ? StoreKind::steady : StoreKind::replica_set;
  setup.processes = 2 + static_cast<int>(random.below(3));
  setup.workers = 1 + static_cast<int>(random.below(2));
  setup.locks = 1 + static_cast<int>(random.below(2));
  const Timing& timing = kTimings[random.below(kTimings.size())];
  setup.pinger.ping_every = timing.ping_every;
  setup.pinger.forget_every = timing.takeover_after * 2;
  setup.call_limit = timing.call_limit;
  for (int i = 0; i < setup.processes; ++i) {
    setup.lock_options.push_back(lock_options(timing, random));
  }
  setup.interruptions = random.chance(0.5) ? 0.1 : 0;
  setup.long_end = random.chance(0.02);
  setup.horizon = Time{timing.takeover_after} * (2 + static_cast<int>(random.below(4)));
  setup.faults = swarm(random);
  perhaps_tell_no_time_of_absent_locks(setup);

  // A mirrored store has no line, so nothing is passed on there.
  if (!narrowing.calm && !narrowing.mirrored) {
    make_some_hurry(setup);
    trouble_some_lines(setup);
    pause_some_when_granted(setup);
  }
  if (narrowing.mirrored) {
    make_mirrored(setup);
    ping_less_often(setup, timing);
  }

  setup.faults = narrowing.faults.value_or(setup.faults);
  leave_out_what_is_not_promised(setup.faults);
  setup.processes = std::min(narrowing.processes.value_or(setup.processes), setup.processes);
  setup.workers = narrowing.workers.value_or(setup.workers);
  perhaps_stop_a_pinger(setup);
  setup.horizon = narrowing.horizon.value_or(setup.horizon);
  return setup;
}

std::string replay_arguments(std::uint64_t seed, const Narrowing& narrowing) {
  std::string arguments = "--seed " + std::to_string(seed);
  if (narrowing.mirrored) arguments += " --mirrored";
  if (narrowing.calm) arguments += " --calm";
  if (narrowing.processes) arguments += " --processes " + std::to_string(*narrowing.processes);
  if (narrowing.workers) arguments += " --workers " + std::to_string(*narrowing.workers);
  if (narrowing.horizon) {
    const auto ms = std::chrono::ceil<milliseconds>(*narrowing.horizon).count();
    arguments += " --until-ms " + std::to_string(ms);
  }
  if (!narrowing.faults) return arguments;
  std::string names;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (!(*narrowing.faults)[i]) continue;
    names += (names.empty() ? "" : ",") + std::string(name_of(static_cast<Fault>(i)));
  }
  return arguments + " --faults " + (names.empty() ? "none" : names);
}

}  // namespace distlock::sim
