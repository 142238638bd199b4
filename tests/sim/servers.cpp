#include "sim/servers.h"

#include <algorithm>
#include <set>

#include "sim/events.h"
#include "stores/mirrored/identity.h"

namespace distlock::sim {
namespace {

std::set<std::string> processes_with_pings(const MemoryTables& tables, const StoreNow& now) {
  std::set<std::string> processes;
  for (const auto& ping : tables.list(now).pings) processes.insert(ping.id);
  return processes;
}

// A look is what the primary has; a list is what a majority has.
MemoryTables& read_by(const Call& call, MemoryTables& primary, MemoryTables& confirmed) {
  return call.verb == "inspect" ? primary : confirmed;
}

Doer doer_of(const Call& call) {
  return {call.outsider ? std::string_view() : std::string_view(call.process), call.verb};
}

}  // namespace

Servers::Servers(StoreKind kind, Scheduler& scheduler, Faults& faults, Oracle& oracle, Trace& trace,
                 Time call_limit, Random random)
    : kind_(kind),
      scheduler_(scheduler),
      faults_(faults),
      oracle_(oracle),
      trace_(trace),
      call_limit_(call_limit),
      random_(random),
      bell_(scheduler),
      clock_off_(kMembers, std::chrono::milliseconds{0}),
      clock_rate_(kMembers, 1.0) {}

StoreNow Servers::now_of(std::size_t member) const {
  const auto ticks = static_cast<double>(scheduler_.now().count()) * clock_rate_[member];
  const auto since =
      std::chrono::floor<std::chrono::milliseconds>(Time{static_cast<std::int64_t>(ticks)});
  const StoreTime time{kEpoch + since + clock_off_[member]};
  if (kind_ == StoreKind::steady) return {time, "steady", true};
  return {time, "member " + std::to_string(member), false};
}

StoreNow Servers::now() const { return now_of(primary_member_); }

bool Servers::something_taken() const {
  return oracle_.something_taken_but(mirrored::kIdentityName);
}

// The faults that a request meets.

void Servers::arrive(const std::shared_ptr<Call>& call) {
  if (old_primary_ && scheduler_.now() >= old_primary_->until) old_primary_.reset();
  if (old_primary_ && random_.chance(0.3)) return at_old_primary(call);
  if (turned_away(call)) return;
  const Time read_at = scheduler_.now();
  const StoreNow now = this->now();
  if (!call->writes || !faults_.strikes(Fault::slow_command)) return execute(call, now, read_at);
  const Time delay = random_.between(Time{0}, call_limit_ * 9 / 10);
  trace_.say(call->process, [&] { return std::string(call->verb) + " is held up in the server"; });
  scheduler_.at(scheduler_.now() + delay, [this, call, now, read_at, term = term_] {
    if (term != term_) return;
    execute(call, now, read_at);
    if (call->verb == "claim" && call->changed) faults_.mattered(Fault::slow_command);
  });
}

bool Servers::turned_away(const std::shared_ptr<Call>& call) {
  if (scheduler_.now() < away_until_) {
    if (something_taken()) faults_.mattered(Fault::store_away);
    // A closed port answers, a dead host does not.
    if (random_.chance(0.5)) reply_failure(call, Errc::not_applied, scheduler_.now());
    return true;
  }
  if (scheduler_.now() < refusing_until_ && call->writes) {
    if (call->verb == "claim" || call->verb == "ping") faults_.mattered(Fault::store_refuses);
    reply_failure(call, Errc::not_applied, scheduler_.now());
    return true;
  }
  if (scheduler_.now() < refusing_claims_until_ && call->verb == "claim") {
    faults_.mattered(Fault::store_refuses);
    reply_failure(call, Errc::outcome_unknown, scheduler_.now());
    return true;
  }
  return false;
}

void Servers::execute(const std::shared_ptr<Call>& call, const StoreNow& now, Time read_at) {
  if (!call->writes) return read(call, now);
  if (call->of_a_lock()) {
    change_lock(call, now);
  } else {
    change_pings(call, now);
  }
  write(call, now, read_at);
}

// The deposed primary does not know it yet. It answers what it can answer alone.
void Servers::at_old_primary(const std::shared_ptr<Call>& call) {
  faults_.note(Fault::old_primary);
  if (call->quick) return release_at_old_primary(call);
  if (call->writes) {
    return reply_failure(call, Errc::outcome_unknown, scheduler_.now() + call_limit_ * 9 / 10);
  }
  if (call->fresh) {
    return reply_failure(call, Errc::not_applied, scheduler_.now() + call_limit_ * 9 / 10);
  }
  if (!(stored_lock(old_primary_->confirmed.raw_lock(call->object)) ==
        stored_lock(primary_.raw_lock(call->object)))) {
    faults_.mattered(Fault::old_primary);
  }
  trace_.say(call->process,
             [&] { return std::string(call->verb) + " is answered by the deposed primary"; });
  call->happen(read_by(*call, old_primary_->own, old_primary_->confirmed),
               now_of(old_primary_->member));
  call->deposed = true;
  reply(call);
}

// It needs nobody for it, and loses it once it knows that it is deposed.
void Servers::release_at_old_primary(const std::shared_ptr<Call>& call) {
  MemoryTables& own = old_primary_->own;
  const StoredLock before = stored_lock(own.raw_lock(call->object));
  call->happen(own, now_of(old_primary_->member));
  trace_.say(call->process,
             [&] { return std::string(call->verb) + " is done by the deposed primary alone"; });
  if (before.taken && before.ts && !stored_lock(own.raw_lock(call->object)).taken) {
    faults_.mattered(Fault::old_primary);
    oracle_.release_undone(*before.ts);
  }
  reply(call);
}

// Reads.

void Servers::read(const std::shared_ptr<Call>& call, const StoreNow& now) {
  if (kind_ == StoreKind::steady) {
    call->happen(primary_, now);
    return reply(call);
  }
  if (!call->fresh) {
    call->happen(read_by(*call, primary_, confirmed_), now);
    return reply(call);
  }
  // Linearizable: what it saw must be confirmed, by a primary that still is one.
  call->happen(primary_, now);
  scheduler_.at(std::max(all_confirmed_, scheduler_.now()), [this, call, term = term_] {
    if (term == term_) return reply(call);
    reply_failure(call, Errc::not_applied, scheduler_.now());
  });
}

// Writes.

void Servers::change_lock(const std::shared_ptr<Call>& call, const StoreNow& now) {
  const bool repeated = call->changed;
  const std::optional<Document> found = primary_.raw_lock(call->object);
  const StoredLock before = stored_lock(found);
  call->happen(primary_, now);
  const StoredLock after = stored_lock(primary_.raw_lock(call->object));
  if (found && !before.taken && after.taken) {
    const StoreTime latest = std::max(now.time, this->now().time);
    note_passed_over(*found, *after.ts);
    oracle_.granted_from_free(doer_of(*call), *found, *after.ts, now.time, latest);
  }
  call->changed = call->changed || !(before == after);
  note_change(*call, before, after, repeated);
  oracle_.lock_changed(doer_of(*call), call->object, before, after);
}

void Servers::note_passed_over(const Document& before, const Token& ts) {
  const std::vector<Waiter> line = distlock::line_of(before);
  const auto first = std::find_if(line.begin(), line.end(), [&](const Waiter& waiter) {
    return waiter.ticket == ts || !waiter.passed_over;
  });
  if (first != line.end() && first->ticket != ts) count(Event::passed_over);
}

void Servers::note_change(const Call& call, const StoredLock& before, const StoredLock& after,
                          bool repeated) {
  if (repeated) faults_.mattered(Fault::doubled_request);
  if (call.late && !(before == after)) faults_.mattered(Fault::late_request);
  trace_.say(call.process, [&] {
    const std::string outcome = before == after ? " changes nothing" : " takes effect";
    return std::string(call.verb) + " of " + call.object + outcome +
           (after.taken ? ", taken by " + after.process + ", fence " + std::to_string(after.fence)
                        : ", free");
  });
}

void Servers::change_pings(const std::shared_ptr<Call>& call, const StoreNow& now) {
  const bool removes = call->verb != "ping";
  const auto before = removes ? processes_with_pings(primary_, now) : std::set<std::string>{};
  call->happen(primary_, now);
  call->changed = true;
  if (call->late && call->verb == "ping") faults_.mattered(Fault::late_request);
  if (!removes) return;
  const auto after = processes_with_pings(primary_, now);
  for (const std::string& process : before) {
    if (after.contains(process)) continue;
    trace_.say(call->process,
               [&] { return std::string(call->verb) + " removes the ping of " + process; });
    oracle_.ping_removed(doer_of(*call), process, !primary_.holds(process).empty());
    if (call->verb == "forget_pings") faults_.mattered(Fault::foreign_cleanup);
  }
}

// Confirmed at once where there is one server, otherwise when a majority has it.
void Servers::write(const std::shared_ptr<Call>& call, const StoreNow& now, Time read_at) {
  if (kind_ == StoreKind::steady) {
    if (call->verb == "ping") oracle_.pinged(call->object, read_at);
    return reply(call);
  }
  const Time confirmed_at = std::max(all_confirmed_, scheduler_.now() + replication_lag(*call));
  all_confirmed_ = confirmed_at;
  const std::uint64_t number = ++writes_;
  unconfirmed_.push_back({call, now, read_at, number});
  scheduler_.at(confirmed_at, [this, number] { confirm_up_to(number); });
  if (call->quick) return reply(call);
  const Time limit = scheduler_.now() + call_limit_ * 9 / 10;
  if (confirmed_at > limit) reply_failure(call, Errc::outcome_unknown, limit);
}

Time Servers::replication_lag(const Call& call) {
  const Time usual = random_.between(Time{0}, Time{std::chrono::milliseconds{5}});
  const Time beyond = call_limit_ + random_.between(Time{0}, call_limit_);
  if (faults_.strikes(Fault::wtimeout_kept)) {
    if (call.changed) faults_.mattered(Fault::wtimeout_kept);
    return beyond;
  }
  if (call.verb == "claim" && faults_.strikes(Fault::wtimeout_rolled_back)) {
    if (call.changed) faults_.mattered(Fault::wtimeout_rolled_back);
    scheduler_.at(scheduler_.now() + call_limit_, [this] {
      if (faults_.enabled(Fault::wtimeout_rolled_back)) fail_over(false);
    });
    return beyond;
  }
  return usual;
}

void Servers::confirm_up_to(std::uint64_t number) {
  while (!unconfirmed_.empty() && unconfirmed_.front().number <= number) confirm_first();
}

void Servers::confirm_first() {
  const Write first = std::move(unconfirmed_.front());
  unconfirmed_.pop_front();
  first.call->happen(confirmed_, first.now);
  if (first.call->verb == "ping") oracle_.pinged(first.call->object, first.read_at);
  if (!first.call->quick) reply(first.call);
}

// Replies.

void Servers::reply(const std::shared_ptr<Call>& call) {
  if (!call->open()) return;
  if (faults_.strikes(Fault::lost_reply)) {
    if (call->changed) faults_.mattered(Fault::lost_reply);
    trace_.say(call->process,
               [&] { return "the reply to its " + std::string(call->verb) + " is lost"; });
    return;
  }
  Time when = scheduler_.now() + random_.between(Time{100'000}, Time{3'000'000});
  if (faults_.strikes(Fault::late_reply)) {
    if (call->verb == "claim") faults_.mattered(Fault::late_reply);
    when = std::max(when, call->give_up_at - random_.between(Time{0}, call_limit_ / 4));
  }
  scheduler_.at(when, [this, call] {
    if (!call->open()) return;
    call->replied = true;
    scheduler_.wake(*call->caller);
  });
}

void Servers::reply_failure(const std::shared_ptr<Call>& call, Errc code, Time when) {
  scheduler_.at(when, [this, call, code] {
    if (!call->open()) return;
    call->failure = Error(code, "the store says no");
    call->replied = true;
    scheduler_.wake(*call->caller);
  });
}

}  // namespace distlock::sim
