#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/events.h"
#include "sim/faults.h"
#include "sim/oracle.h"
#include "sim/process.h"
#include "sim/scheduler.h"
#include "sim/servers.h"
#include "sim/setup.h"
#include "sim/trace.h"
#include "stores/mirrored/identity.h"

namespace distlock::sim {

/// A member of a mirrored store, with clocks, faults and an oracle of its own.
struct SimMember {
  SimMember(const Setup& setup, std::size_t number, Scheduler& scheduler, Faults& faults,
            const Trace& whole, Time call_limit, Random random)
      : trace(whole, "member " + std::to_string(number) + ": "),
        oracle(scheduler),
        servers(setup.store, scheduler, faults, oracle, trace, call_limit, random) {}

  Trace trace;
  Oracle oracle;
  Servers servers;
};

/// Everything of one run.
struct World {
  World(const Setup& given, std::ostream* trace_to);

  /// Of which the members of the mirrored store are.
  static constexpr Token kSet{{7}};

  SimProcess& add_process(const std::string& host, const LockOptions& options);
  std::string lock_name(std::uint64_t number) const { return "lock " + std::to_string(number); }

  /// Of one call of one server.
  std::chrono::milliseconds call_limit() const;
  /// The store, or each member of a mirrored one.
  std::vector<Servers*> all_servers();
  /// The identity of that member, if it is one of the set; and whether it counts, being none of
  /// before.
  std::optional<mirrored::Identity> identity_of(std::size_t number) const;
  bool counts(std::size_t number) const { return counting_.at(number); }
  /// Whether it does so whatever fails over.
  bool counts_for_good(std::size_t number) const;
  /// Members of the mirrored store were emptied or exchanged.
  void tell_majorities();
  /// The member at that place of another mirrored store.
  MemoryTables of_another_set(std::size_t number) const;

  const Setup setup;
  Random random;
  Scheduler scheduler;
  Faults faults;
  Oracle oracle;
  Trace trace;
  Servers servers;
  std::vector<std::unique_ptr<SimMember>> members;  // of a mirrored store, instead of `servers`
  std::vector<std::unique_ptr<SimProcess>> processes;

 private:
  void add_members();
  void tell_majority(const std::string& name);
  [[nodiscard]] std::vector<StoredLock> on_members(const std::string& name) const;
  [[nodiscard]] std::vector<std::optional<mirrored::Identity>> identities() const;
  /// Whether no majority can carry that hold any more.
  bool ended(const Belief& belief) const;
  /// Tells the members' oracles which holds of that lock no majority can carry any more.
  void note_ended(const std::vector<StoredLock>& locks);
  void touched(const std::string& name, const StoredLock& before, const StoredLock& after);
  /// On a member: whether one says the hold to be of the process that frees it.
  bool freed(const Doer& by, const std::string& name, const Token& ts);
  void member_changed();
  void note_counting();

  std::vector<std::uint64_t> came_back_;  // How often the member of that place has, so far.
  std::vector<bool> counting_;
  // For a process that has not heard what a minority was told.
  std::vector<bool> counting_for_uninformed_;
};

/// How a run went.
struct Outcome {
  std::optional<std::string> violation;
  FaultCounts faults;
  EventCounts events;
  std::uint64_t steps = 0;
};

/// Runs the schedule of that setup from beginning to end. Nothing but the setup has a say.
Outcome run(const Setup& setup, std::ostream* trace_to = nullptr);

}  // namespace distlock::sim
