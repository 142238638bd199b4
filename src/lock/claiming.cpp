#include <boost/thread/lock_guard.hpp>

#include "lock/distributed_lock_impl.h"
#include "log.h"
#include "pinger/identity.h"
#include "text.h"
#include "thread_number.h"

// A claim and what becomes of it: sent once, read back if its reply was lost, kept if it left time
// to live, and never forgotten while it may still take effect (R2, R7, R8, R9).
namespace distlock {
namespace {

std::string came_too_late(const std::string& name) {
  return "lock \"" + escaped(name) +
         "\": the store granted a claim so late that its deadline had passed; it was given back";
}

}  // namespace

Tried DistributedLock::Impl::claim(const ClaimBasis& basis, std::string_view why) {
  const Token ts = new_token(pinging->environment);
  pinging->holds.enlist(hold, ts);
  const auto ping_sent = pinging->ensure_pinged(hold->validity_span, limit);
  if (!ping_sent || out_of_time()) return {};
  const Claim claim{.process = pinging->environment.process,
                    .who = new_who(pinging->environment),
                    .why = why.empty() ? options.why : std::string(why),
                    .ts = ts,
                    .takeover_after = options.takeover_after,
                    .cutoff = pinging->cutoff()};
  Tried tried;
  auto record = send_claim(basis, claim, tried.failure);
  if (!record) return tried;
  tried.held = keep(std::move(*record), *ping_sent);
  if (!tried.held) tried.failure = Error(Errc::not_applied, came_too_late(name));
  return tried;
}

std::optional<LockRecord> DistributedLock::Impl::send_claim(const ClaimBasis& basis,
                                                            const Claim& claim,
                                                            std::optional<Error>& failure) {
  const SteadyTime sent = pinging->environment.clock->steady_now();
  PendingUnlessCertain pending{*this, claim.ts, sent};
  try {
    auto record = pinging->environment.store->claim(name, basis, claim);
    pending.certain = true;
    return record;
  } catch (const Error& error) {
    pending.certain = error.errc() != Errc::outcome_unknown;
    if (pending.certain) throw;
    log::claim_outcome_unknown(name, error.what());
    auto record = resolve(claim, sent, error);
    pending.certain = record.has_value();
    if (!record) failure = error;
    return record;
  }
}

std::optional<LockRecord> DistributedLock::Impl::resolve(const Claim& claim, SteadyTime sent,
                                                         const Error& unknown) {
  // A wait that is over leaves it to the pinger.
  if (out_of_time()) throw unknown;
  if (const auto answer = read_back(claim)) return *answer;
  // Not there yet, but a delayed request may still come until the cutoff has passed.
  const auto call_limit = pinging->environment.store->call_limit();
  const EitherStop stop(pinging->stopping.get_token(), limit.stop);
  pinging->environment.clock->wait_until(
      std::min(sent + call_limit + call_limit / 8, limit.deadline), stop.token());
  if (out_of_time()) throw unknown;
  if (const auto answer = read_back(claim)) return *answer;
  throw unknown;
}

// What is certain about the claim: held, not held, or nothing yet, as when the read fails as well.
// A claim that is not there after its cutoff does not count, but what began in time may still be
// written: it stays pending.
std::optional<std::optional<LockRecord>> DistributedLock::Impl::read_back(const Claim& claim) {
  Inspection seen;
  try {
    seen = pinging->look(name, Freshness::fresh).seen;
  } catch (const Error& error) {
    log::claim_outcome_unknown(name, error.what());
    return std::nullopt;
  }
  if (seen.lock && seen.lock->ts == claim.ts) {
    return seen.lock->taken() ? seen.lock : std::optional<LockRecord>();
  }
  if (seen.now && seen.now->clock == claim.cutoff.clock && seen.now->time > claim.cutoff.time) {
    return std::optional<LockRecord>();
  }
  return std::nullopt;
}

void DistributedLock::Impl::leave_pending(const Token& ts, SteadyTime sent) noexcept {
  const auto call_limit = pinging->environment.store->call_limit();
  pinging->pending.add({name, ts, sent + protocol::settled_after(options, call_limit)});
}

bool DistributedLock::Impl::keep(LockRecord record, SteadyTime ping_sent) {
  const SteadyTime now = pinging->environment.clock->steady_now();
  if (!pinging->holds.begin(*hold, *record.ts, ping_sent, now)) {
    log::claim_came_too_late(name);
    release(record, SteadyTime::min());
    return false;
  }
  watch.reset();
  log::acquired(record);
  const boost::lock_guard<boost::mutex> lock(mutex);
  claimed = std::move(record);
  holder = this_thread_number();
  phase = Phase::holding;
  return true;
}

}  // namespace distlock
