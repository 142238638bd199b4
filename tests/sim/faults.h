#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/random.h"

namespace distlock::sim {

/// Everything that can go wrong in a simulated world. Their names are those of `tools/sim
/// --faults`.
enum class Fault : std::uint8_t {
  // of a request or its reply
  lost_request,
  lost_reply,
  late_request,
  doubled_request,
  late_reply,
  slow_command,
  // of a process
  crash,
  crash_in_unlock,
  restart,
  pause_short,
  pause_beyond_lease,
  suspend,
  pinger_paused,
  fork,
  // of a process's clocks
  wall_ahead,
  wall_behind,
  wall_steps_forward,
  wall_steps_back,
  drift,
  // of the store's clocks
  store_steps_under,
  store_steps_above,
  members_apart,
  // of the store
  failover_keeping,
  failover_dropping,
  old_primary,
  wtimeout_kept,
  wtimeout_rolled_back,
  store_away,
  store_refuses,
  // of others who use the store
  operator_break,
  foreign_cleanup,
  original_process,
  malformed_document,
  lock_deleted,
  ping_deleted,
  token_collision,
  // of the line and its bell
  ring_lost,
  ring_again,
  ring_astray,
  place_lost,
  stranger_in_line,
  line_malformed,
  // of a member of a mirrored store
  member_lost,
  member_slow,
  member_emptied,
  member_exchanged,
  member_cut_off,
  member_of_before,
  return_undone,
  // of a waiter
  pause_when_granted,
  // of others who use a member of a mirrored store
  field_edited,
};
inline constexpr std::size_t kFaults = 51;
/// Those before the line's. Their draws stay what they were.
inline constexpr std::size_t kFaultsOfAll = 36;
/// Those before the members of mirrored stores.
inline constexpr std::size_t kFaultsOfOneStore = 42;
/// And those before what came after them.
inline constexpr std::size_t kFaultsOfMembersToo = 49;

inline bool of_a_member(Fault fault) {
  const auto number = static_cast<std::size_t>(fault);
  return number >= kFaultsOfOneStore && number < kFaultsOfMembersToo;
}
inline bool of_mirrored_stores_alone(Fault fault) {
  return of_a_member(fault) || fault == Fault::field_edited;
}
inline bool of_the_line(Fault fault) {
  const auto number = static_cast<std::size_t>(fault);
  return (number >= kFaultsOfAll && number < kFaultsOfOneStore) ||
         fault == Fault::pause_when_granted;
}

std::string_view name_of(Fault fault);
/// The effect of a fault, and when it counts as having mattered, for the table.
std::string_view about(Fault fault);
std::optional<Fault> fault_named(std::string_view name);

using FaultSet = std::bitset<kFaults>;

inline bool has(const FaultSet& set, Fault fault) { return set[static_cast<std::size_t>(fault)]; }

/// How often each fault happened, and how often at a point where it mattered.
struct FaultCounts {
  std::array<std::uint64_t, kFaults> happened{};
  std::array<std::uint64_t, kFaults> mattered{};

  FaultCounts& operator+=(const FaultCounts& other);
};

/// The faults of one run: a random subset (a swarm), each as likely as the run has drawn.
class Faults {
 public:
  Faults(const FaultSet& set, Random random);

  const FaultSet& set() const { return set_; }
  bool enabled(Fault fault) const { return active_ && has(set_, fault); }

  /// Whether it happens now; counted if so.
  bool strikes(Fault fault);
  void note(Fault fault) { ++counts_.happened[static_cast<std::size_t>(fault)]; }
  void mattered(Fault fault) { ++counts_.mattered[static_cast<std::size_t>(fault)]; }

  /// No fault from now on.
  void cease() { active_ = false; }

  const FaultCounts& counts() const { return counts_; }

 private:
  FaultSet set_;
  Random random_;
  bool active_ = true;
  std::array<double, kFaults> probability_{};
  FaultCounts counts_;
};

/// Whether nothing goes wrong but what befalls the line and its bell.
bool of_the_line_alone(const FaultSet& set);

/// Whether nothing goes wrong but what outsiders do to documents, and pauses and ends of processes.
bool of_documents_and_pauses_alone(const FaultSet& set);

/// A random subset: each run lacks most faults, so that no fault hides another in all of them.
FaultSet swarm(Random& random);

}  // namespace distlock::sim
