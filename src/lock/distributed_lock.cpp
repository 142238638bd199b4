#include "distlock/distributed_lock.h"

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/lock_types.hpp>

#include "lock/distributed_lock_impl.h"
#include "log.h"
#include "text.h"
#include "thread_number.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;
using protocol::Judgement;
using protocol::Verdict;

ClaimBasis basis_of(const Inspection& seen, Verdict verdict) {
  if (verdict == Verdict::absent) return FromAbsent{};
  if (verdict == Verdict::free) return FromFree{seen.lock->ts};
  return FromHold{*seen.lock->ts, seen.lock->when};
}

// The options, once it is sure that a lock can be made with them.
LockOptions checked(const LockOptions& options, std::string_view name,
                    const DistributedLockPinger::Impl& pinging) {
  pinging.fork_guard.check("the pinger");
  protocol::check_name(name);
  protocol::check_options(options);
  protocol::check_room(options, pinging.options, pinging.environment.store->call_limit());
  return options;
}

}  // namespace

DistributedLock::Impl::Impl(std::shared_ptr<DistributedLockPinger> given_pinger,
                            std::shared_ptr<DistributedLockPinger::Impl> given_pinging,
                            std::string given_name, const LockOptions& given_options)
    : pinger(std::move(given_pinger)),
      pinging(std::move(given_pinging)),
      options(checked(given_options, given_name, *pinging)),
      hold(std::make_shared<Hold>(
          std::move(given_name),
          protocol::validity(options, pinging->environment.store->call_limit()))),
      name(hold->name) {}

bool DistributedLock::lock_try(std::string_view why, LockRecord* other) {
  return impl_->lock_try(why, other, {});
}

bool DistributedLock::Impl::lock_try(std::string_view why, LockRecord* other, const Limit& until) {
  protocol::check_why(why);
  pinging->check_usable();
  if (!begin_claiming(other)) return false;
  Claiming claiming{*this};
  limit = until;
  claiming.held = claim_remembered(why).held || look_and_claim(why, other);
  return claiming.held;
}

bool DistributedLock::Impl::look_and_claim(std::string_view why, LockRecord* other) {
  Look look;
  Tried tried;
  for (int round = 0; !out_of_time(); ++round) {
    const Inspection before = look.seen;
    const Judgement judgement = judge_now(look);
    if (judgement.verdict == Verdict::busy) break;
    if (round == protocol::kClaimRoundsMax) {
      check_busy(tried, before, look.seen);
      break;
    }
    if (out_of_time()) break;
    // Nobody reads the clock of an absent document, and ours may have changed with a fail-over.
    if (judgement.verdict == Verdict::absent && round > 0) pinging->ping();
    tried = claim(basis_of(look.seen, judgement.verdict), why);
    if (tried.held) return true;
    if (out_of_time()) break;
    log_lost_claim(look.seen, judgement);
  }
  if (other != nullptr) *other = look.seen.lock.value_or(LockRecord{.name = name});
  return false;
}

void DistributedLock::Impl::check_busy(const Tried& last, const Inspection& before,
                                       const Inspection& after) const {
  if (last.failure) throw Error(*last.failure);
  const auto ts_in = [](const Inspection& seen) {
    return seen.lock ? seen.lock->ts : std::optional<Token>();
  };
  if ((after.lock && after.lock->taken()) || ts_in(after) != ts_in(before)) return;
  throw Error(Errc::not_applied,
              "lock \"" + escaped(name) + "\" is free, but the store refused " +
                  std::to_string(protocol::kClaimRoundsMax) +
                  " claims of it, perhaps because they came to it too late; nothing is held");
}

bool DistributedLock::Impl::begin_claiming(LockRecord* other) {
  const SteadyTime now = pinging->environment.clock->steady_now();
  boost::unique_lock<boost::mutex> lock(mutex);
  if (phase == Phase::idle) {
    phase = Phase::claiming;
    return true;
  }
  const bool by_us = phase == Phase::holding && holder == this_thread_number();
  if (by_us && hold->validity.over(now)) {
    phase = Phase::claiming;
    lock.unlock();
    claim_anew_from_lost();
    return true;
  }
  if (by_us) {
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
  {
    const Guard lock(mutex);
    if (phase != Phase::holding) {
      throw Error(Errc::lock_lost, "lock \"" + escaped(name) + "\" has no hold to claim anew from");
    }
    if (!hold->validity.over(now)) {
      throw Error(Errc::already_held, "lock \"" + escaped(name) + "\" is held and valid");
    }
    phase = Phase::claiming;
  }
  claim_anew_from_lost();
}

// The watch may not have looked yet. The old hold's owner is told before there is a new one.
void DistributedLock::Impl::claim_anew_from_lost() {
  const Token ts = *claimed->ts;
  remembered = FromHold{ts};
  pinging->holds.lose({hold, ts}, LossReason::deadline_passed);
}

void DistributedLock::Impl::end_claiming() noexcept {
  // Our pings go on, so nobody could take over what we no longer count as held.
  if (claimed) pinging->pending.add({name, *claimed->ts});
  pinging->holds.delist(hold);
  const Guard lock(mutex);
  claimed.reset();
  phase = Phase::idle;
}

Tried DistributedLock::Impl::claim_remembered(std::string_view why) {
  const auto basis = std::exchange(remembered, std::nullopt);
  return basis ? claim(*basis, why) : Tried{};
}

Judgement DistributedLock::Impl::judge_now(Look& look) {
  if (!watch) watch = std::make_unique<protocol::HolderWatch>();
  const auto judged = [&](Freshness freshness) {
    look = pinging->look(name, freshness);
    const bool stepped = pinging->clock_stepped(look.seen, options);
    return protocol::judge(look.seen, look.span, stepped, options, *watch);
  };
  Judgement judgement = judged(Freshness::ordinary);
  const bool doubtful = judgement.verdict == Verdict::dead && !look.seen.fresh;
  if (doubtful && !out_of_time()) judgement = judged(Freshness::fresh);
  if (look.seen.lock) log_judgement(look.seen, judgement);
  const Guard lock(mutex);
  until_takeover = judgement.until_takeover;
  return judgement;
}

void DistributedLock::Impl::set_waiting(bool now) {
  const Guard lock(mutex);
  waiting += now ? 1 : -1;
  logged.reset();
}

bool DistributedLock::Impl::said_already(protocol::Reason reason) {
  const Guard lock(mutex);
  return std::exchange(logged, reason) == reason && waiting > 0;
}

void DistributedLock::Impl::log_judgement(const Inspection& seen, const Judgement& judgement) {
  const LockRecord& lock = *seen.lock;
  if (said_already(judgement.reason)) return;
  if (judgement.impossible) log::elapsed_seems_impossible(lock, judgement.elapsed);
  switch (judgement.reason) {
    case protocol::Reason::none:
    case protocol::Reason::others_turn:
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

DistributedLock::DistributedLock(std::shared_ptr<DistributedLockPinger> pinger, std::string name,
                                 const LockOptions& options) {
  if (!pinger) throw Error(Errc::invalid_argument, "a lock needs a pinger");
  auto pinging = pinger->impl_;
  impl_ = std::make_unique<Impl>(std::move(pinger), std::move(pinging), std::move(name), options);
}

DistributedLock::DistributedLock(const ConnectionString& config, std::string name,
                                 int takeover_minutes)
    : DistributedLock(config, std::move(name),
                      LockOptions::taking_over_after_minutes(takeover_minutes)) {}

DistributedLock::DistributedLock(const ConnectionString& config, std::string name,
                                 const LockOptions& options) {
  // Before the store is opened: what is wrong with the arguments is no matter of the store's.
  protocol::check_name(name);
  protocol::check_options(options);
  const auto pinging_options = PingerOptions::fitting(options.takeover_after);
  const auto store_options = StoreOptions::fitting(options.takeover_after);
  protocol::check_room(options, pinging_options, store_options.call_limit);
  auto pinger = DistributedLockPinger::got(config, pinging_options, store_options);
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
  impl_->pinging->holds.silence(*impl_->hold);
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
