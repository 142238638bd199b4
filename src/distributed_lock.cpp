#include "distlock/distributed_lock.h"

#include <boost/thread/lock_guard.hpp>

#include "distributed_lock_impl.h"
#include "identity.h"
#include "log.h"
#include "text.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;
using protocol::Judgement;
using protocol::Verdict;

ClaimBasis basis_of(const Inspection& seen, Verdict verdict) {
  if (verdict == Verdict::absent) return FromAbsent{};
  if (verdict == Verdict::free) return FromFree{};
  return FromHold{*seen.lock->ts};
}

}  // namespace

LockOptions LockOptions::taking_over_after_minutes(int minutes) {
  if (minutes < 1) {
    throw Error(Errc::invalid_argument,
                "takeover_minutes is " + std::to_string(minutes) + ": it must be at least 1");
  }
  LockOptions options;
  options.takeover_after = std::chrono::minutes{minutes} + std::chrono::minutes{1};
  return options;
}

DistributedLock::Impl::Impl(std::shared_ptr<DistributedLockPinger> given_pinger,
                            std::shared_ptr<DistributedLockPinger::Impl> given_pinging,
                            std::string given_name, const LockOptions& given_options)
    : pinger(std::move(given_pinger)),
      pinging(std::move(given_pinging)),
      name(std::move(given_name)),
      options(given_options),
      hold(std::make_shared<Hold>(name, protocol::validity(given_options))) {
  pinging->fork_guard.check("the pinger");
  protocol::check_name(name);
  protocol::check_options(options);
  protocol::check_room(options, pinging->options, pinging->environment.store->call_limit());
}

bool DistributedLock::lock_try(std::string_view why, LockRecord* other) {
  protocol::check_why(why);
  impl_->pinging->fork_guard.check("the lock");
  if (!impl_->begin_claiming(other)) return false;
  Claiming claiming{*impl_};
  claiming.held = impl_->claim_remembered(why) || impl_->look_and_claim(why, other);
  return claiming.held;
}

bool DistributedLock::Impl::look_and_claim(std::string_view why, LockRecord* other) {
  Look look;
  for (int round = 0;; ++round) {
    const Judgement judgement = judge_now(look);
    if (judgement.verdict == Verdict::busy || round == protocol::kClaimRoundsMax) break;
    // Nobody reads the clock of an absent document, and ours may have changed with a fail-over.
    if (judgement.verdict == Verdict::absent && round > 0) pinging->ping();
    if (claim(basis_of(look.seen, judgement.verdict), why)) return true;
    log_lost_claim(look.seen, judgement);
  }
  if (other != nullptr) *other = look.seen.lock.value_or(LockRecord{.name = name});
  return false;
}

bool DistributedLock::Impl::begin_claiming(LockRecord* other) {
  const SteadyTime now = pinging->environment.clock->steady_now();
  const Guard lock(mutex);
  const bool ran_out = phase == Phase::holding && hold->validity.over(now);
  if (phase == Phase::idle || ran_out) {
    phase = Phase::claiming;
    if (ran_out) remembered = FromHold{*claimed->ts};
    return true;
  }
  if (phase == Phase::holding && holder == boost::this_thread::get_id()) {
    throw Error(Errc::already_held,
                "lock \"" + escaped(name) + "\" is already held by this thread: unlock() it first");
  }
  if (other != nullptr) {
    *other = claimed.value_or(LockRecord{
        .name = name, .state = LockState::taken, .process = pinging->environment.process});
  }
  return false;
}

void DistributedLock::Impl::begin_reclaiming() {
  const SteadyTime now = pinging->environment.clock->steady_now();
  const Guard lock(mutex);
  if (phase != Phase::holding) {
    throw Error(Errc::lock_lost, "lock \"" + escaped(name) + "\" has no hold to claim anew from");
  }
  if (!hold->validity.over(now)) {
    throw Error(Errc::already_held, "lock \"" + escaped(name) + "\" is held and valid");
  }
  phase = Phase::claiming;
  remembered = FromHold{*claimed->ts};
}

void DistributedLock::Impl::end_claiming() noexcept {
  // Our pings go on, so nobody could take over what we no longer count as held.
  if (claimed) pinging->pending.add({name, *claimed->ts});
  pinging->holds.delist(hold);
  const Guard lock(mutex);
  claimed.reset();
  phase = Phase::idle;
}

bool DistributedLock::Impl::claim_remembered(std::string_view why) {
  const auto basis = std::exchange(remembered, std::nullopt);
  return basis && claim(*basis, why);
}

Judgement DistributedLock::Impl::judge_now(Look& look) {
  const auto judged = [&](Freshness freshness) {
    look = pinging->look(name, freshness);
    const bool stepped = look.seen.now && pinging->clock_stepped(*look.seen.now, options);
    return protocol::judge(look.seen, look.span, stepped, options, watch);
  };
  Judgement judgement = judged(Freshness::ordinary);
  if (judgement.verdict == Verdict::dead && !look.seen.fresh) judgement = judged(Freshness::fresh);
  if (look.seen.lock) log_judgement(look.seen, judgement);
  const Guard lock(mutex);
  until_takeover = judgement.until_takeover;
  return judgement;
}

std::chrono::nanoseconds DistributedLock::Impl::poll_pause(int round, std::uint64_t random) const {
  const Guard lock(mutex);
  return protocol::poll_pause(round, random, until_takeover, options);
}

void DistributedLock::Impl::log_judgement(const Inspection& seen,
                                          const Judgement& judgement) const {
  const LockRecord& lock = *seen.lock;
  if (judgement.impossible) log::elapsed_seems_impossible(lock, judgement.elapsed);
  switch (judgement.reason) {
    case protocol::Reason::none:
      return;
    case protocol::Reason::pinged_recently:
      return log::lock_failed_because_taken(lock, judgement.elapsed);
    case protocol::Reason::ping_missing:
      return log::taken_by_old_process(lock);
    case protocol::Reason::ping_in_future:
      return log::clock_skew(lock, judgement.elapsed);
    case protocol::Reason::other_clock:
    case protocol::Reason::not_watched:
      return log::taken_under_another_clock(lock, judgement.elapsed);
    case protocol::Reason::wall_clock_skew:
      return log::wall_clock_skew(lock, judgement.elapsed);
    case protocol::Reason::clock_stepped:
      return log::store_clock_stepped(seen.now->clock);
    case protocol::Reason::silent:
      return log::forcefully_taking_over(lock, judgement.elapsed);
  }
}

void DistributedLock::Impl::log_lost_claim(const Inspection& seen,
                                           const Judgement& judgement) const {
  if (judgement.verdict == Verdict::dead) return log::could_not_take_over(*seen.lock);
  log::lost_race(name);
}

bool DistributedLock::Impl::claim(const ClaimBasis& basis, std::string_view why) {
  pinging->holds.enlist(hold);
  const SteadyTime ping_sent = pinging->ensure_pinged(options);
  const Claim claim{.process = pinging->environment.process,
                    .who = new_who(pinging->environment),
                    .why = std::string(why),
                    .ts = new_token(pinging->environment),
                    .takeover_after = options.takeover_after,
                    .cutoff = pinging->cutoff()};
  auto record = send_claim(basis, claim);
  return record && keep(std::move(*record), ping_sent);
}

std::optional<LockRecord> DistributedLock::Impl::send_claim(const ClaimBasis& basis,
                                                            const Claim& claim) {
  const SteadyTime sent = pinging->environment.clock->steady_now();
  try {
    return pinging->environment.store->claim(name, basis, claim);
  } catch (const Error& error) {
    if (error.errc() != Errc::outcome_unknown) throw;
    log::claim_outcome_unknown(name, error.what());
    return resolve(claim, sent, error);
  }
}

std::optional<LockRecord> DistributedLock::Impl::resolve(const Claim& claim, SteadyTime sent,
                                                         const Error& unknown) {
  try {
    if (const auto answer = read_back(claim)) return *answer;
    // Not there yet, but a delayed request may still come until the cutoff has passed.
    const auto limit = pinging->environment.store->call_limit();
    pinging->environment.clock->wait_until(sent + limit + limit / 8, pinging->stopping.get_token());
    if (const auto answer = read_back(claim)) return *answer;
  } catch (const Error& error) {
    log::claim_outcome_unknown(name, error.what());
  }
  const auto settled =
      2 * pinging->environment.store->call_limit() + protocol::max_clock_skew(options);
  pinging->pending.add({name, claim.ts, sent + settled});
  throw unknown;
}

/// What is certain about the claim: held, not held, or nothing yet.
std::optional<std::optional<LockRecord>> DistributedLock::Impl::read_back(const Claim& claim) {
  const Inspection seen = pinging->look(name, Freshness::fresh).seen;
  if (seen.lock && seen.lock->ts == claim.ts) {
    return seen.lock->taken() ? seen.lock : std::optional<LockRecord>();
  }
  if (seen.now && seen.now->clock == claim.cutoff.clock && seen.now->time > claim.cutoff.time) {
    return std::optional<LockRecord>();
  }
  return std::nullopt;
}

bool DistributedLock::Impl::keep(LockRecord record, SteadyTime ping_sent) {
  pinging->holds.begin(*hold, *record.ts, ping_sent);
  if (hold->validity.over(pinging->environment.clock->steady_now())) {
    pinging->holds.retire(*hold);
    log::claim_came_too_late(name);
    release(record);
    return false;
  }
  log::acquired(record);
  const Guard lock(mutex);
  claimed = std::move(record);
  holder = boost::this_thread::get_id();
  phase = Phase::holding;
  return true;
}

UnlockResult DistributedLock::unlock() noexcept {
  Impl& impl = *impl_;
  if (impl.pinging->fork_guard.in_child()) return UnlockResult::not_ours;
  std::optional<LockRecord> record;
  {
    const Guard lock(impl.mutex);
    if (impl.phase != Impl::Phase::holding) return UnlockResult::not_ours;
    impl.phase = Impl::Phase::releasing;
    record = std::exchange(impl.claimed, std::nullopt);
  }
  impl.pinging->holds.retire(*impl.hold);
  const UnlockResult result = impl.release(*record);
  impl.pinging->holds.delist(impl.hold);
  const Guard lock(impl.mutex);
  impl.phase = Impl::Phase::idle;
  if (result == UnlockResult::released) impl.remembered = FromFree{};
  return result;
}

UnlockResult DistributedLock::Impl::release(const LockRecord& record) noexcept {
  bool perhaps_freed = false;
  for (int attempt = 1; attempt <= protocol::kUnlockAttemptsMax; ++attempt) {
    try {
      const ReleaseResult result = pinging->environment.store->release(name, *record.ts);
      if (result == ReleaseResult::freed || perhaps_freed) {
        log::unlocked(name);
        return UnlockResult::released;
      }
      log::not_ours_any_more(name);
      return UnlockResult::not_ours;
    } catch (const Error& error) {
      if (error.errc() == Errc::outcome_unknown) perhaps_freed = true;
      log::unlock_attempt_failed(name, attempt, error.what());
    }
    if (attempt == protocol::kUnlockAttemptsMax) break;
    Clock& clock = *pinging->environment.clock;
    clock.wait_until(clock.steady_now() + protocol::unlock_pause(attempt),
                     pinging->stopping.get_token());
  }
  log::unlock_not_consummated(name, options.takeover_after);
  pinging->pending.add({name, *record.ts});
  return UnlockResult::pending;
}

DistributedLock::DistributedLock(std::shared_ptr<DistributedLockPinger> pinger, std::string name,
                                 const LockOptions& options) {
  if (!pinger) throw Error(Errc::invalid_argument, "a lock needs a pinger");
  auto pinging = pinger->impl_;
  impl_ = std::make_unique<Impl>(std::move(pinger), std::move(pinging), std::move(name), options);
}

DistributedLock::DistributedLock(const ConnectionString& config, std::string name,
                                 int takeover_minutes) {
  // Before the store is opened: what is wrong with the arguments is no matter of the store's.
  protocol::check_name(name);
  const auto options = LockOptions::taking_over_after_minutes(takeover_minutes);
  protocol::check_options(options);
  auto pinger = DistributedLockPinger::got(config);
  auto pinging = pinger->impl_;
  impl_ = std::make_unique<Impl>(std::move(pinger), std::move(pinging), std::move(name), options);
}

DistributedLock::~DistributedLock() {
  if (impl_->pinging->fork_guard.in_child()) {
    // What it holds is the parent's (R16).
    (void)impl_.release();
    return;
  }
  unlock();
  const auto announcer = impl_->pinging->holds.announcer_if_any(*impl_->hold);
  if (announcer) announcer->wait_for_callbacks();
}

const std::string& DistributedLock::name() const { return impl_->name; }

const LockOptions& DistributedLock::options() const { return impl_->options; }

LockRecord DistributedLock::record() const {
  impl_->pinging->fork_guard.check("the lock");
  const Guard lock(impl_->mutex);
  if (impl_->claimed) return *impl_->claimed;
  throw Error(Errc::lock_lost, "lock \"" + escaped(impl_->name) + "\" is not held");
}

}  // namespace distlock
