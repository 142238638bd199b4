#include "sim/faults.h"

namespace distlock::sim {
namespace {

struct Described {
  std::string_view name;
  std::string_view about;
};

// In the order of Fault.
constexpr std::array<Described, kFaults> kDescribed{{
    {"lost_request", "a request never arrives; matters: of a claim or a release"},
    {"lost_reply", "it takes effect, the reply is lost; matters: it changed something"},
    {"late_request", "it arrives after its caller gave up; matters: it then changes something"},
    {"doubled_request", "it is applied twice; matters: a claim or release that had succeeded"},
    {"late_reply", "the reply comes close to the caller's limit; matters: of a claim"},
    {"slow_command", "the server reads its clock, then waits; matters: of a claim that it grants"},
    {"crash", "a process is gone; matters: it held, or was claiming"},
    {"crash_in_unlock", "a process is gone while its release is on the way"},
    {"restart", "a new process of the same host name; matters: the old one holds in the store"},
    {"pause_short", "a process stands still for a while; matters: with a call under way"},
    {"pause_beyond_lease", "for longer than its lease; matters: it was holding"},
    {"suspend", "for hours; matters: it was holding or claiming"},
    {"pinger_paused", "only its ping thread stands still; matters: it was holding"},
    {"fork", "a child uses its parent's objects; matters: the parent holds"},
    {"wall_ahead", "a process's wall clock is ahead; matters: while a lock is held"},
    {"wall_behind", "a process's wall clock is behind; matters: while a lock is held"},
    {"wall_steps_forward", "a wall clock steps forward; matters: while a lock is held"},
    {"wall_steps_back", "a wall clock steps back; matters: while a lock is held"},
    {"drift", "clocks run at different rates; matters: a takeover in that run"},
    {"store_steps_under", "the store's clock steps, within the tolerance; matters: while held"},
    {"store_steps_above", "the store's clock steps by more; matters: while held"},
    {"members_apart", "the members' clocks differ; matters: a fail-over between them while held"},
    {"failover_keeping", "another primary, with every write; matters: while held"},
    {"failover_dropping", "another primary, without the unconfirmed writes; matters: there were"},
    {"old_primary", "the deposed one still answers; matters: with what is true no more"},
    {"wtimeout_kept", "a write is not confirmed in time but stays; matters: it changed something"},
    {"wtimeout_rolled_back", "a write is not confirmed and undone; matters: it was a claim"},
    {"store_away", "the store does not answer for a time; matters: while held"},
    {"store_refuses",
     "the store is full or read-only, or refuses claims by an unknown error; matters: it "
     "refused a claim or a ping"},
    {"operator_break", "an operator frees a lock by name; matters: its holder was valid"},
    {"foreign_cleanup", "another process removes old pings; matters: it removed one"},
    {"original_process", "one of the original's algorithm competes; matters: it got the lock"},
    {"malformed_document", "somebody spoils a document; matters: of a taken lock"},
    {"lock_deleted", "somebody deletes a lock's document; matters: it was taken"},
    {"ping_deleted", "somebody deletes a ping; matters: its process holds"},
    {"token_collision", "two locks' holds get the same ObjectId; matters: both at once"},
    {"ring_lost", "a ring is not delivered; matters: its process stands in line for a free lock"},
    {"ring_again", "a ring comes once more, later; matters: its process still stands in line"},
    {"ring_astray", "somebody else in line is rung, too; matters: there is somebody"},
    {"place_lost", "somebody takes a place out of a line; matters: each time"},
    {"stranger_in_line", "a ticket of nobody stands first; matters: in front of others"},
    {"line_malformed", "somebody spoils a line; matters: others stood in it"},
    {"member_lost", "a member is away for good; matters: while held"},
    {"member_slow", "a member is slow; matters: while held"},
    {"member_emptied", "a member loses its data; matters: while held"},
    {"member_exchanged", "a member of another set is in its place; matters: while held"},
    {"member_cut_off", "one process reaches a member no more; matters: while held"},
    {"member_of_before", "a member has its data of before again; matters: while held"},
    {"return_undone",
     "a member that came back has its data of before again; matters: a lock was granted there, and "
     "its last holder stood still"},
    {"pause_when_granted",
     "a waiter stands still for longer than its grant is valid, and its next claim may be lost; "
     "matters: each time"},
    {"field_edited",
     "somebody edits a field of a taken lock, on one member; matters: its holder was valid"},
}};

constexpr std::array kLikely{0.02, 0.05, 0.15, 0.3};

}  // namespace

std::string_view name_of(Fault fault) { return kDescribed[static_cast<std::size_t>(fault)].name; }

std::string_view about(Fault fault) { return kDescribed[static_cast<std::size_t>(fault)].about; }

std::optional<Fault> fault_named(std::string_view name) {
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (kDescribed[i].name == name) return static_cast<Fault>(i);
  }
  return std::nullopt;
}

FaultCounts& FaultCounts::operator+=(const FaultCounts& other) {
  for (std::size_t i = 0; i < kFaults; ++i) {
    happened[i] += other.happened[i];
    mattered[i] += other.mattered[i];
  }
  return *this;
}

Faults::Faults(const FaultSet& set, Random random) : set_(set), random_(random) {
  for (std::size_t i = 0; i < kFaultsOfAll; ++i) {
    probability_[i] = kLikely[random_.below(kLikely.size())];
  }
  for (std::size_t i = kFaultsOfAll; i < kFaultsOfOneStore; ++i) probability_[i] = 0.3;
  probability_[static_cast<std::size_t>(Fault::pause_when_granted)] = 0.3;
}

bool Faults::strikes(Fault fault) {
  if (!enabled(fault)) return false;
  if (!random_.chance(probability_[static_cast<std::size_t>(fault)])) return false;
  note(fault);
  return true;
}

bool of_the_line_alone(const FaultSet& set) {
  FaultSet others = set;
  for (std::size_t i = kFaultsOfAll; i < kFaultsOfOneStore; ++i) others.reset(i);
  return others.none();
}

bool of_documents_and_pauses_alone(const FaultSet& set) {
  FaultSet others = set;
  for (const Fault fault :
       {Fault::field_edited, Fault::operator_break, Fault::lock_deleted, Fault::malformed_document,
        Fault::crash, Fault::restart, Fault::pause_short, Fault::pause_beyond_lease,
        Fault::pinger_paused, Fault::suspend}) {
    others.reset(static_cast<std::size_t>(fault));
  }
  return others.none();
}

FaultSet swarm(Random& random) {
  FaultSet set;
  if (random.chance(0.25)) {
    for (int i = 0; i < 2; ++i) set.set(random.below(kFaultsOfAll));
    return set;
  }
  constexpr std::array kShare{0.0, 0.1, 0.2, 0.35};
  const double share = kShare[random.below(kShare.size())];
  for (std::size_t i = 0; i < kFaultsOfAll; ++i) set[i] = random.chance(share);
  return set;
}

}  // namespace distlock::sim
