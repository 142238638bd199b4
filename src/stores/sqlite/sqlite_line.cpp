#include "stores/sqlite/sqlite_line.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "distlock/error.h"
#include "stores/sqlite/sqlite_errors.h"
#include "stores/sqlite/sqlite_locks.h"
#include "stores/sqlite/sqlite_rows.h"
#include "turns.h"

namespace distlock {
namespace {

using Access = SqliteConnection::Access;

constexpr const char* kWrite = "BEGIN IMMEDIATE";

ClaimBasis basis_of(bool exists) {
  return exists ? ClaimBasis{FromFree{}} : ClaimBasis{FromAbsent{}};
}

LockRecord free_lock(std::string_view name) { return {.name = std::string(name)}; }

}  // namespace

// The answer to a request for a place (R17), and the writes for it.
struct SqliteLine::Plan {
  bool exists = false;  ///< The lock has a row.
  std::vector<Waiter> before;
  std::vector<Waiter> after;
  bool grants = false;
  Standing standing;
  std::string witness;  ///< Of the holder, if the lock is taken.

  bool writes() const { return grants || before != after; }
};

SqliteLine::Plan SqliteLine::plan(std::string_view name, const Claim& claim, StoreTime now) const {
  const auto row = row_of(connection_, name);
  LockRecord lock = row ? lock_from(row->lock) : free_lock(name);  // Throws for a malformed one.
  Plan plan{.exists = row.has_value(), .before = lock.line, .after = lock.line};
  plan.standing = {std::nullopt, line::stands(claim.ts, lock.line), !lock.taken()};
  plan.standing.attends = lock.ts.value_or(Token{});
  if (lock.taken()) plan.witness = witness_stated_in(row->ping);
  if (lock.taken() && lock.ts == claim.ts) {
    lock.line.clear();
    plan.standing.hold = std::move(lock);
    // A free lock that carries the ticket has been held with it: this request comes once more.
  } else if (lock.ts != claim.ts && now <= claim.cutoff.time) {
    check_room_for_fences(lock, claim);
    plan.grants = !lock.taken() && line::may_claim(claim.ts, lock.line, lock.freed_at, now);
    const Waiter place{claim.ts, claim.process, claim.who, now, std::nullopt};
    plan.after = plan.grants ? line::after_claim(claim.ts, lock.line, now)
                             : line::after_refusal(place, lock.line);
    plan.standing.in_line = !plan.grants && line::stands(claim.ts, plan.after);
  }
  return plan;
}

Standing SqliteLine::stand(std::string_view name, const Claim& claim) {
  check_fences(claim);
  // Another clock than the one that the cutoff is by cannot tell whether it has passed (R4, R8).
  if (claim.cutoff.clock != connection_.clock().name) return {};
  const bool attended_anew = bell_.attend(claim.process, claim.ts, name);
  Plan done = [&] {
    try {
      return stand_in_turn(name, claim);
    } catch (...) {
      if (attended_anew) forget(claim.ts);  // Perhaps nobody asks for this place again.
      throw;
    }
  }();
  Standing& standing = done.standing;
  if (!standing.in_line) forget(claim.ts);
  if (standing.in_line) standing.holder_ended = attend_holder(name, claim.ts, done.witness);
  return std::move(standing);
}

// The next one attends the end of whoever it waits for. It would learn of this hold by its next
// look alone. Told before the disk has the hold: its process may be killed meanwhile.
void SqliteLine::tell_of_holder(std::string_view name, const std::vector<Waiter>& line) {
  const auto next = std::find_if(line.begin(), line.end(),
                                 [](const Waiter& waiter) { return !waiter.passed_over; });
  if (next == line.end()) return;
  try {
    bell_.tell_of_holder(name, next->process);
  } catch (const std::bad_alloc&) {
    // The hold is granted, whoever learns of it.
  }
}

// Whether it has ended. Nothing rings for that end any more: something may act for the dead holder
// still, and a waiter that was woken again and again would not rest.
bool SqliteLine::attend_holder(std::string_view name, const Token& ticket,
                               const std::string& witness) {
  if (witness.empty()) {
    deaths_.ignore(ticket);
    return false;
  }
  return deaths_.attend(ticket, name, witness);
}

// A call that only keeps a place writes nothing, and waits for no writer. A place is not worth a
// wait for the disk: the end of the machine ends its waiters too. A hold is. A place that was
// rung for mostly claims, and is not looked at first.
SqliteLine::Plan SqliteLine::stand_in_turn(std::string_view name, const Claim& claim) {
  const auto give_up_at = connection_.end_of_call();
  const auto claim_in_turn = [&] { return carry_out(name, claim, true); };
  if (bell_.take_ring(claim.ts))
    return *connection_.write_durably(Access::write, give_up_at, name, claim_in_turn);
  Plan seen;
  {
    const SqliteCall call = connection_.begin_call(Access::read, give_up_at);
    seen = plan(name, claim, connection_.now().time);
  }
  if (!seen.writes()) {
    // A trigger may have failed its claim and let it stand, so that nobody has synced it.
    if (seen.standing.hold) connection_.cover_claims_of(name, give_up_at);
    return seen;
  }
  if (seen.grants && seen.exists && seen.before.empty()) {
    auto hold = connection_.write_durably(Access::write, give_up_at, name, [&] {
      return claim_row(connection_, name, basis_of(seen.exists), claim, InLine::nobody);
    });
    if (hold) return {.standing = {std::move(hold)}};
  }
  if (!seen.grants) {
    const SqliteCall call = connection_.begin_call(Access::quick_write, give_up_at);
    if (auto done = carry_out(name, claim, false)) return *std::move(done);
  }
  return *connection_.write_durably(Access::write, give_up_at, name, claim_in_turn);
}

// Nothing: it would grant the lock now, which the caller had not said.
std::optional<SqliteLine::Plan> SqliteLine::carry_out(std::string_view name, const Claim& claim,
                                                      bool grants) {
  SqliteTransaction transaction(connection_.db(), "stand in line", kWrite);
  Plan plan = this->plan(name, claim, connection_.write_time());
  if (!plan.writes()) return plan;
  if (plan.grants && !grants) return std::nullopt;
  if (plan.grants) {
    auto hold = claim_row(connection_, name, basis_of(plan.exists), claim, InLine::may_pass);
    // Nothing that was judged can have changed under the lock of the file.
    if (!hold) refuse_lost_write(connection_.db().handle(), "claim");
    plan.standing = {std::move(hold)};
  }
  write_line(connection_, name, plan.before, plan.after);
  // Of a lock that somebody removed while it waited.
  if (!plan.exists) remove_place(connection_, name, claim.ts);
  transaction.commit();
  if (plan.grants) tell_of_holder(name, plan.after);
  return plan;
}

void SqliteLine::leave(std::string_view name, const Token& ticket) {
  forget(ticket);
  const SqliteCall call = connection_.begin_call(Access::quick_write);
  const std::vector<Waiter> next = left_by_first(name, ticket);
  remove_place(connection_, name, ticket);
  tell_of_holder(name, next);
}

// Those behind the first in line, if `ticket` is that one and somebody holds the lock: a claim told
// the first of its hold, and nobody else.
std::vector<Waiter> SqliteLine::left_by_first(std::string_view name, const Token& ticket) const {
  try {
    const auto row = row_of(connection_, name);
    if (!row || state_in(row->lock) == LockState::free) return {};
    const std::vector<Waiter> line = line_of(row->lock);
    const bool first = line::waits(ticket, line) && line::place_of(ticket, line) == 0;
    if (first) return line::without(ticket, line);
  } catch (const Error&) {
    // The place goes all the same.
  } catch (const std::bad_alloc&) {
  }
  return {};
}

// Nobody loses a hold with a release that the disk has lost.
Freed SqliteLine::release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) {
  const auto write = [&] { return write_release(name, ts); };
  if (rule == ReleaseRule::durable) return connection_.write_durably(Access::write, write);
  const SqliteCall call = connection_.begin_call(Access::quick_write);
  return write();
}

Freed SqliteLine::write_release(std::string_view name, const Token& ts) {
  const SqliteRelease release = release_row(connection_, name, ts);
  awaited(name) = release.awaited;
  if (!release.awaited) return {.result = release.result};
  return line::freed(line_behind(name));
}

// The lock is free already. A line that cannot be read costs its waiters the ring, and they find
// out by looking (R19).
std::vector<Waiter> SqliteLine::line_behind(std::string_view name) const {
  try {
    if (const auto row = row_of(connection_, name)) return line_of(row->lock);
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return {};
}

std::atomic<bool>& SqliteLine::awaited(std::string_view name) {
  return awaited_.at(std::hash<std::string_view>{}(name) % awaited_.size());
}

bool SqliteLine::refuses(std::string_view name, const Claim& claim,
                         std::chrono::milliseconds give_up_at) {
  if (!awaited(name)) return false;
  const SqliteCall call = connection_.begin_call(Access::read, give_up_at);
  const auto row = row_of(connection_, name);
  if (!row) return false;
  return state_in(row->lock) != LockState::free ||
         !is_turn(row->lock, claim.ts, connection_.now().time);
}

void SqliteLine::ring(std::string_view name, const std::vector<std::string>& processes) {
  bell_.ring(name, processes);
}

std::shared_ptr<void> SqliteLine::listen(std::string_view process, Rung rung) {
  struct Listening {
    std::shared_ptr<void> deaths;
    std::shared_ptr<void> bell;
  };
  Listening listening;
  try {
    listening.deaths = deaths_.listen(rung);
  } catch (const Error&) {
    // Waiters find out by looking (R19).
  }
  listening.bell = bell_.listen(process, std::move(rung));
  return std::make_shared<Listening>(std::move(listening));
}

std::optional<LockRecord> SqliteLine::claim_beside(std::string_view name, const ClaimBasis& basis,
                                                   const Claim& claim) {
  SqliteTransaction transaction(connection_.db(), "claim", kWrite);
  connection_.forget_write_time();
  const auto row = row_of(connection_, name);
  if (!row) return std::nullopt;
  const bool from_hold = std::holds_alternative<FromHold>(basis);
  if (!from_hold && !is_turn(row->lock, claim.ts, connection_.write_time())) {
    return std::nullopt;
  }
  auto lock = claim_row(connection_, name, basis, claim, InLine::may_pass);
  if (!lock) return std::nullopt;
  const std::vector<Waiter> line = line_of(row->lock);
  const std::vector<Waiter> others = line::without(claim.ts, line);
  write_line(connection_, name, line,
             from_hold ? others : line::after_claim(claim.ts, line, connection_.write_time()));
  transaction.commit();
  tell_of_holder(name, others);
  return lock;
}

}  // namespace distlock
