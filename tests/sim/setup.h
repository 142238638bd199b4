#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distlock/options.h"
#include "sim/faults.h"
#include "sim/servers.h"

namespace distlock::sim {

/// The setup of one run, drawn from a seed. Arguments narrow it, so that a failing run can
/// be made smaller.
struct Setup {
  std::uint64_t seed = 0;
  FaultSet faults;
  StoreKind store = StoreKind::steady;
  bool absent_tells_time = true;  // A look at an absent lock says what time it is.
  int processes = 2;
  int workers = 1;  // a process
  int locks = 1;
  bool hurry = false;       // Workers hold for milliseconds, and wait for each other (R21).
  std::size_t members = 0;  // of a mirrored store; 0: it is none
  Time horizon{0};          // until faults end and everybody settles down

  std::vector<LockOptions> lock_options;  // a process
  PingerOptions pinger;
  std::chrono::milliseconds call_limit{0};
  double interruptions = 0;
  Time first_stops_at = kNever;  // its pinger, while its workers are at work
  bool long_end = false;         // days more, for the cleanup
  Time violated_at = kNever;     // then a violation is made up, for tests of the simulation

  /// The smallest tolerance for clocks that any process of the run has.
  std::chrono::milliseconds tolerance() const;
  std::chrono::milliseconds longest_window() const;
};

struct Narrowing {
  std::optional<FaultSet> faults;
  std::optional<int> processes;
  std::optional<int> workers;
  std::optional<Time> horizon;
  bool mirrored = false;
  bool calm = false;  // Nobody is in a hurry (R21).
};

Setup setup_from(std::uint64_t seed, const Narrowing& narrowing = {});

/// The arguments of tools/sim that have this run again.
std::string replay_arguments(std::uint64_t seed, const Narrowing& narrowing);

}  // namespace distlock::sim
