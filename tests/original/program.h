#pragma once

#include <optional>
#include <string>
#include <vector>

#include "original/witness.h"
#include "sim/sim_clock.h"
#include "sim/sim_store.h"
#include "sim/trace.h"

namespace distlock::original {

/// Part 1 of docs/protocol.md. The window is an argument of the original's constructor.
struct Constants {
  int takeover_minutes = 15;
  std::chrono::seconds ping_every{30};
  std::chrono::days forget_after{4};
  int unlock_attempts = 3;
};

/// Shared by the locks and the pinger of one process of the original. It knows no time but its own
/// wall clock's.
struct Program {
  std::string id;
  Constants constants;
  std::vector<sim::SimStore*> servers;
  sim::SimClock& clock;
  sim::Trace& trace;
  Witness& witness;
  sim::Random random;

  /// Of an algorithm on one server.
  sim::SimStore& server() { return *servers.front(); }
  StoreTime now() const { return StoreTime{clock.wall_now().time_since_epoch()}; }
  Token new_token();
};

/// Part 1, step 2 of lock_try: whether that holder, with this ping, is to be taken over from.
bool is_dead(Program& program, const std::string& holder, const std::optional<Document>& ping);

/// One round of `LockPinger`: its ping, then the cleanup.
void ping_round(Program& program);

}  // namespace distlock::original
