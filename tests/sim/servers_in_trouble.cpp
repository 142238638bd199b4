#include <algorithm>
#include <set>

#include "sim/servers.h"

// Faults of the store: fail-overs, absences, outsiders.
namespace distlock::sim {

void Servers::fail_over(bool keeping) {
  if (kind_ != StoreKind::replica_set) return;
  const bool taken = something_taken();
  if (keeping) {
    if (taken) faults_.mattered(Fault::failover_keeping);
    if (!unconfirmed_.empty()) confirm_up_to(unconfirmed_.back().number);
  } else {
    if (!unconfirmed_.empty()) faults_.mattered(Fault::failover_dropping);
    lose_unconfirmed();
  }
  primary_member_ = (primary_member_ + 1 + random_.below(kMembers - 1)) % kMembers;
  ++term_;
  all_confirmed_ = scheduler_.now();
  if (taken && faults_.enabled(Fault::members_apart)) faults_.mattered(Fault::members_apart);
  trace_.say("store", [&] {
    return std::string(keeping ? "fails over" : "fails over, losing what was not confirmed") +
           " to " + now().clock;
  });
}

void Servers::lose_unconfirmed() {
  std::set<std::string> touched;
  for (const Write& lost : unconfirmed_) {
    if (lost.call->of_a_lock()) touched.insert(lost.call->object);
    // The answer to a quick one is on its way.
    if (!lost.call->quick) reply_failure(lost.call, Errc::outcome_unknown, scheduler_.now());
  }
  unconfirmed_.clear();
  primary_ = confirmed_;
  for (const std::string& name : touched) {
    oracle_.lock_rolled_back(name, stored_lock(primary_.raw_lock(name)));
  }
}

void Servers::keep_old_primary(Time until) {
  if (kind_ == StoreKind::replica_set) {
    old_primary_ = OldPrimary{primary_, confirmed_, primary_member_, until};
  }
}

void Servers::go_away(Time until) {
  away_until_ = std::max(away_until_, until);
  trace_.say("store", [&] { return "is away until " + text_of(until); });
}

void Servers::refuse_writes(Time until) {
  refusing_until_ = until;
  trace_.say("store", [&] { return "refuses writes until " + text_of(until); });
}

void Servers::refuse_claims(Time until) {
  refusing_claims_until_ = until;
  trace_.say("store", [&] { return "refuses claims until " + text_of(until); });
}

void Servers::become(const MemoryTables& other) {
  if (!unconfirmed_.empty()) confirm_up_to(unconfirmed_.back().number);
  old_primary_.reset();
  primary_ = other;
  confirmed_ = other;
  oracle_.stop_judging();
  trace_.say("store", [&] { return std::string("a member is another store now"); });
}

void Servers::heal() {
  slow_until_ = Time{0};
  old_primary_.reset();
  away_until_ = Time{0};
  refusing_until_ = Time{0};
  refusing_claims_until_ = Time{0};
}

std::vector<Waiter> Servers::places_of(const std::string& lock) const {
  const auto document = primary_.raw_lock(lock);
  return document ? distlock::line_of(*document) : std::vector<Waiter>{};
}

void Servers::meddle_with_ping(const std::string& process) {
  oracle_.ping_removed({}, process, true);
  meddle("", [&](MemoryTables& tables) { tables.remove_ping(process); });
}

void Servers::meddle(const std::string& lock, const std::function<void(MemoryTables&)>& change) {
  if (!unconfirmed_.empty()) confirm_up_to(unconfirmed_.back().number);
  const StoredLock before = stored_lock(primary_.raw_lock(lock));
  change(primary_);
  change(confirmed_);
  oracle_.lock_changed({}, lock, before, stored_lock(primary_.raw_lock(lock)));
}

}  // namespace distlock::sim
