#include <boost/thread/lock_guard.hpp>

#include "lock/contender.h"
#include "log.h"
#include "text.h"

// One's own hold that ran out, or was granted too late: claiming anew from it without a look (R9),
// or giving it up.
namespace distlock {

bool DistributedLock::reclaim(std::string_view why) {
  const log::OfStore of_store(*contender_->session->environment.store);
  protocol::check_why(why);
  contender_->session->check_usable();
  contender_->begin_acquiring_anew();
  AcquiringPhase acquiring{*contender_};
  contender_->limit = {};
  acquiring.held = contender_->with_errors_of_all([&] {
    const Token old = *contender_->claimed->ts;
    const ClaimResult tried = contender_->claim_remembered(why);
    if (tried.failure) throw Error(*tried.failure);
    if (!tried.held && tried.ts) contender_->check_gone(old);
    return tried.held;
  });
  return acquiring.held;
}

void Contender::begin_acquiring_anew() {
  const SteadyTime now = session->environment.clock->steady_now();
  {
    const boost::lock_guard<boost::mutex> lock(mutex);
    if (phase != Phase::holding) {
      throw Error(Errc::lock_lost, "lock \"" + escaped(name) + "\" has no hold to claim anew from");
    }
    if (!hold->validity.over(now)) {
      throw Error(Errc::already_held, "lock \"" + escaped(name) + "\" is held and valid");
    }
    phase = Phase::acquiring;
  }
  lose_overdue_hold();
}

// A claim is refused also where its time has passed, or where nobody can tell: by then the store
// may have another clock.
void Contender::check_gone(const Token& old) const {
  session->check_usable();
  if (session->chores.fate_of(name, old)) return;
  throw Error(Errc::not_applied,
              "lock \"" + escaped(name) +
                  "\" still carries the old hold, but the store refused to claim "
                  "anew from it; the hold is given up");
}

// The watch may not have looked yet. The old hold's owner is told before there is a new one.
void Contender::lose_overdue_hold() {
  const Token ts = *claimed->ts;
  remembered = remember(FromHold{ts}, *claimed);
  session->holds.lose({hold, ts}, LossReason::deadline_passed);
}

void Contender::remember_late_grant(LockRecord record) {
  session->holds.keep_known(*hold, *record.ts);
  remembered = remember(FromHold{*record.ts}, record);
  const boost::lock_guard<boost::mutex> lock(mutex);
  claimed = std::move(record);
}

void Contender::give_up_old_hold() {
  std::optional<LockRecord> old;
  {
    const boost::lock_guard<boost::mutex> lock(mutex);
    old = std::exchange(claimed, std::nullopt);
  }
  if (old) session->pending.add(name, *old->ts);
  leave_late_grant_pending();
  session->holds.forget(*hold);  // Its wait may go on for hours.
}

ClaimResult Contender::claim_remembered(std::string_view why, Fence fences) {
  const auto from = std::exchange(remembered, std::nullopt);
  return from ? claim(*from, why, fences) : ClaimResult{};
}

ClaimFrom Contender::remember(const ClaimBasis& basis, const LockRecord& record) {
  return {basis, {}, record.members.empty() ? 0 : record.fence + 1};
}

}  // namespace distlock
