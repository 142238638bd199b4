// A waiter in line looks at the lock: it takes over from the dead, in its turn, and says when to
// look again (R6, R17, R23).
#include <algorithm>
#include <exception>

#include "lock/standing.h"
#include "saturating.h"
#include "turns.h"

namespace distlock {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

// How long until the next look at what acts for the dead: the first pause, doubled each time.
constexpr milliseconds kRemainsFirst{5};
constexpr milliseconds kRemainsLast{2560};
constexpr std::uint64_t kLookSoon = 3;  // So many in line do.

// A waiter that hears no rings looks again after this part of the hold's age, if that is later.
constexpr int kPartOfAge = 64;

// When a look may meet the turn of that place. Those behind look more rarely, so that all of a line
// together ask the store little more often than its first few.
milliseconds half_a_turn_each(const Token& ticket, const std::vector<Waiter>& line) {
  const auto half = line::opens_after(1, line::pace_of(line)) / 2;
  return half * (1 + static_cast<int>(line::place_of(ticket, line)));
}

}  // namespace

bool StandingInLine::look() {
  TimedInspection look;
  const protocol::Judgement judgement = lock_.judge_now(look);
  answered_ = true;
  if (judgement.verdict != protocol::Verdict::dead) forget_failed_takeover();
  if (request_.other != nullptr && look.seen.lock) *request_.other = *look.seen.lock;
  if (clock_.steady_now() >= request_.teller->due()) seen_ = look.seen.lock;
  look_again_in(nanoseconds{lock_.options.recheck});
  if (!may_call()) return false;
  // Granted after all, by a claim that the store had refused once or never answered.
  if (look.seen.lock && look.seen.lock->ts == ticket_) {
    if (look.seen.lock->taken()) return stand();
    // Granted, and freed by somebody else: the ticket gets nothing any more.
    begin_with_new_ticket();
    return stand();
  }
  look_for_turns_unheard(look.seen);
  switch (judgement.verdict) {
    case protocol::Verdict::dead:
      if (lets_others_first(judgement, *look.seen.lock)) return false;
      lock_.refusals.judged(look.seen, judgement);
      return take_over(look);
    case protocol::Verdict::busy:
      if (!look.seen.lock->taken()) return !lets_others_first_to_free(look.seen) && stand();
      if (!line::waits(ticket_, look.seen.lock->line)) return stand();
      look_at_takeover(look, judgement.until_takeover);
      ended_.reset();
      if (attends_nobody_ && attended_ == look.seen.lock->ts)
        look_soon_for_remains(*look.seen.lock);
      return attends_another_than(look.seen.lock->ts) && attend(look.seen.lock->ts);
    case protocol::Verdict::free:
      return !lets_others_first_to_free(look.seen) && stand();
    case protocol::Verdict::absent:
      return learned_time() && stand();
  }
  return false;
}

// An absent lock tells no time. Where the store has not looked, its clock may be another by now
// than that of the last ping.
bool StandingInLine::learned_time() {
  if (nowhere_) lock_.session->ping_unless_stopped(lock_.limit);
  return may_call();
}

// Those in front may have left without a word, so that the store told nobody of that hold.
bool StandingInLine::attends_another_than(const std::optional<Token>& hold) const {
  return attends_nobody_ || (attends_ && attends_ != hold);
}

// Somebody else has the lock by now: the store is to tell of the end of that holder, too. It is
// asked once only: something may act for a dead holder still, which then counts as alive at each
// look.
bool StandingInLine::attend(const std::optional<Token>& hold) {
  return std::exchange(attended_, hold) != hold && stand();
}

// A look may come by chance as soon as the holder is dead. Places take over in turn, as after a
// release (R17). The first ones may be gone.
bool StandingInLine::lets_others_first(const protocol::Judgement& judgement,
                                       const LockRecord& dead) {
  if (judgement.reason == protocol::Reason::ended) return lets_others_first_at_end(dead);
  const auto dead_for = saturating_difference(StoreTime{judgement.elapsed},
                                              StoreTime{protocol::window(dead, lock_.options)});
  const auto turn = line::rings_after(ticket_, dead.line);
  if (dead_for >= turn) return false;
  const auto left = turn - std::max(dead_for, milliseconds{0});
  look_at_ = std::min(look_at_, clock_.steady_now() + left);
  return true;
}

// All learn of an end at once (R23).
bool StandingInLine::lets_others_first_at_end(const LockRecord& dead) {
  const SteadyTime now = clock_.steady_now();
  attends_nobody_ = true;
  if (std::exchange(ended_, dead.ts) != dead.ts)
    ended_turn_at_ = now + line::rings_after(ticket_, dead.line);
  const bool waits = now < ended_turn_at_;
  look_at_ = waits ? ended_turn_at_ : now + line::kTurn;  // Should somebody be quicker.
  return waits;
}

// Those in front may be there, and nobody has told them: the process that released may have ended
// since. A waiter that looks after its turn rings for them, and lets them have theirs (R17).
bool StandingInLine::lets_others_first_to_free(const Inspection& seen) {
  const LockRecord& lock = *seen.lock;
  const std::uint64_t place = line::place_of(ticket_, lock.line);
  if (!lock.freed_at || !line::waits(ticket_, lock.line) || place == 0) return false;
  if (std::exchange(freed_at_, lock.freed_at) != lock.freed_at) {
    const auto left = line::turn_in(ticket_, lock.line, *lock.freed_at, seen.now->time);
    const bool late = left <= milliseconds{0};
    if (late && may_call()) ring_for_those_in_front(lock.line);
    free_turn_at_ = clock_.steady_now() + (late ? line::rings_after(ticket_, lock.line) : left);
  }
  const bool waits = clock_.steady_now() < free_turn_at_;
  free_turn_is_over_ = !waits;
  if (waits) stand_at_ = free_turn_at_;
  return waits;
}

void StandingInLine::ring_for_those_in_front(const std::vector<Waiter>& line) {
  try {
    std::vector<std::string> processes;
    for (const Waiter& waiter : line) {
      if (waiter.ticket == ticket_) break;
      const bool own = waiter.process == lock_.session->environment.process;
      if (!own) processes.push_back(waiter.process);
    }
    std::sort(processes.begin(), processes.end());
    processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
    if (!processes.empty()) line_.ring(lock_.name, processes);
  } catch (const std::exception&) {
    // They find out by looking.
  }
}

// Mostly it is a process that is just ending, or about to execute a program. Nothing tells when it
// is over. Of a few waiters one will be there, and the others need no look (R20, R23).
void StandingInLine::look_soon_for_remains(const LockRecord& dead) {
  if (std::exchange(remains_of_, dead.ts) != dead.ts) remains_pause_ = kRemainsFirst;
  if (remains_pause_ > kRemainsLast || line::place_of(ticket_, dead.line) >= kLookSoon) return;
  const milliseconds turn = line::rings_after(ticket_, dead.line);
  look_at_ = std::min(look_at_, clock_.steady_now() + remains_pause_ + turn);
  remains_pause_ *= 2;
}

bool StandingInLine::take_over(const TimedInspection& look) {
  const LockRecord& dead = *look.seen.lock;
  if (std::exchange(takeover_of_, dead.ts) != dead.ts) forget_failed_takeover();
  if (!pinged() || !may_call()) return false;
  // No claim of this place was granted before that look. A claim that is still on its way may have
  // been since, perhaps before a pause: the place counts from its own beginning then.
  if (!doubtful_) lock_.session->begin_claim(*lock_.hold);
  // Its outcome may stay unknown, and the hold is freed later then: no claim may carry that `ts`
  // anew.
  ticket_spent_ = true;
  auto record = sent_takeover({FromHold{*dead.ts, dead.when}});
  forget_failed_takeover();  // A refusal is an answer, too.
  if (!record) return false;
  return keep(std::move(*record));
}

// Looks and requests for a place in between may succeed, so its failures count by themselves.
std::optional<LockRecord> StandingInLine::sent_takeover(const ClaimFrom& from) {
  const SteadyTime asked = clock_.steady_now();
  try {
    auto [record, failure] = lock_.claims.send(
        from, lock_.claims.claim_with(ticket_, request_.why, fences_), lock_.limit);
    ticket_spent_ = failure.has_value();
    if (failure) throw Error(*failure);
    return std::move(record);
  } catch (const Error& error) {
    takeover_fails_since_ = std::min(takeover_fails_since_, asked);
    takeover_failure_ = error;
    ticket_spent_ = error.errc() == Errc::outcome_unknown;
    look_at_ = SteadyTime::min();  // As soon as the store is asked again.
    throw;
  }
}

void StandingInLine::forget_failed_takeover() {
  takeover_failure_.reset();
  takeover_fails_since_ = SteadyTime::max();
}

// A ring comes before a place is passed over. So rings do not reach this waiter, as where a store
// has no bell that can be used (R19): by its rare looks it would meet no turn of its own.
void StandingInLine::look_for_turns_unheard(const Inspection& seen) {
  if (!seen.lock) return;
  const LockRecord& lock = *seen.lock;
  const bool passed_over = perhaps_in_line_ && !doubtful_ && !line::waits(ticket_, lock.line);
  hears_no_rings_ = hears_no_rings_ || passed_over;
  if (!hears_no_rings_) return;
  const StoreTime now = seen.now->time;
  const auto age = saturating_difference(now, lock.taken() ? lock.when.value_or(now) : now);
  const auto pause = std::max(half_a_turn_each(ticket_, lock.line), age / kPartOfAge);
  look_at_ = std::min(look_at_, clock_.steady_now() + pause);
}

void StandingInLine::look_again_in(nanoseconds pause) {
  const auto spread = static_cast<std::uint64_t>(pause.count());
  const auto part = lock_.session->environment.random() % spread;
  look_at(clock_.steady_now() + pause / 2 + nanoseconds{static_cast<std::int64_t>(part)});
}

// Sooner where a program wants to be told.
void StandingInLine::look_at(SteadyTime next) {
  const SteadyTime told = request_.teller->due();
  look_at_ = told > clock_.steady_now() ? std::min(next, told) : next;
}

// The first in line looks when the holder can be dead, the next a turn later, and so on.
void StandingInLine::look_at_takeover(const TimedInspection& look, milliseconds left) {
  if (left <= milliseconds{0} || left / 2 >= lock_.options.recheck) return;
  const auto turn = line::rings_after(ticket_, look.seen.lock->line);
  look_at_ = std::min(look_at_, clock_.steady_now() + left + turn);
}

}  // namespace distlock
