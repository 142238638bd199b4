#include "lock/releaser.h"

#include "failure.h"
#include "log.h"

namespace distlock {

Releaser::Released Releaser::release(const Token& ts, SteadyTime valid_until) noexcept {
  bool perhaps_freed = false;
  for (int attempt = 1; attempt <= protocol::kUnlockAttemptsMax; ++attempt) {
    try {
      const auto asked = attempt == 1 ? options_.release_rule : ReleaseRule::durable;
      const ReleaseRule rule = session_.rule_now(asked);
      const Freed freed = session_.release_and_ring(name_, ts, rule);
      // A deposed primary that never had the hold may have answered. So it is asked again, durably.
      if (rule == ReleaseRule::quick && freed.result != ReleaseResult::freed) continue;
      return {result_of(freed.result, perhaps_freed, valid_until), !freed.next.empty()};
    } catch (...) {
      const Failure failure = current_failure();
      log::unlock_attempt_failed(name_, attempt, failure.what);
      if (!failure.may_pass) break;
      perhaps_freed = perhaps_freed || failure.outcome_unknown;
    }
    if (attempt < protocol::kUnlockAttemptsMax) pause_after(attempt);
  }
  log::unlock_not_consummated(name_, options_.takeover_after);
  session_.pending.add(name_, ts);
  return {};
}

void Releaser::pause_after(int attempt) {
  Clock& clock = *session_.environment.clock;
  clock.wait_until(clock.steady_now() + protocol::unlock_pause(attempt),
                   session_.stopping.get_token());
}

// An earlier attempt may have freed it, or this one have freed a part of its members. While nobody
// could take over, it was nobody else.
UnlockResult Releaser::result_of(ReleaseResult result, bool perhaps_freed,
                                 SteadyTime valid_until) const {
  const bool in_part = perhaps_freed || result == ReleaseResult::freed_in_part;
  const bool in_time = session_.environment.clock->steady_now() < valid_until;
  const bool by_us =
      (perhaps_freed && result == ReleaseResult::already_free) || (in_part && in_time);
  if (result == ReleaseResult::freed || by_us) {
    log::unlocked(name_);
    return UnlockResult::released;
  }
  log::not_ours_any_more(name_, valid_until == SteadyTime::min());
  return UnlockResult::not_ours;
}

}  // namespace distlock
