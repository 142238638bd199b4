#include "lock/claim_sender.h"

#include <algorithm>

#include "log.h"
#include "pinger/identity.h"
#include "protocol/deadlock.h"

namespace distlock {

/// At the end of a claim, also by an exception: unless it is certainly held or certainly refused,
/// it is freed later.
struct ClaimSender::PendingUnlessCertain {
  ~PendingUnlessCertain() {
    if (!certain) sender.leave_pending(ts, sent);
  }
  ClaimSender& sender;
  Token ts;
  SteadyTime sent;
  bool certain = false;
};

Claim ClaimSender::claim_with(const Token& ts, std::string_view why, Fence fences) const {
  const std::string more = fences > 1 ? deadlock::passed_on_up_to(fences - 1) : std::string();
  return {.process = session_.environment.process,
          .who = new_who(session_.environment) + more,
          .why = why.empty() ? options_.why : std::string(why),
          .ts = ts,
          .takeover_after = options_.takeover_after,
          .cutoff = session_.cutoff(),
          .fences = fences};
}

std::optional<LockRecord> ClaimSender::claim(const ClaimFrom& from, const Claim& claim) {
  Store& store = *session_.environment.store;
  if (from.bases.empty()) return store.claim(name_, from.basis, claim);
  return store.members()->claim_from(name_, from.bases, claim);
}

// On a mirrored store a claim may be refused, and be granted by a member that gave no answer (M2).
bool ClaimSender::may_be_left(const Token& refused) const {
  Members* const members = session_.environment.store->members();
  return members != nullptr && members->take_left(refused);
}

ClaimSender::Answer ClaimSender::send(const ClaimFrom& from, Claim claim, const Limit& limit) {
  claim.fence = from.fence;
  const SteadyTime sent = session_.environment.clock->steady_now();
  PendingUnlessCertain pending{*this, claim.ts, sent};
  try {
    auto hold = this->claim(from, claim);
    pending.certain = hold || !may_be_left(claim.ts);
    return {std::move(hold), std::nullopt};
  } catch (const Error& error) {
    pending.certain = error.errc() != Errc::outcome_unknown;
    if (pending.certain) throw;
    log::claim_outcome_unknown(name_, error.what());
    auto hold = resolve(claim, sent, error, limit);
    pending.certain = hold.has_value();
    if (!hold) return {std::nullopt, error};
    return {std::move(hold), std::nullopt};
  }
}

// Errors: `unknown` where nothing is certain.
std::optional<LockRecord> ClaimSender::resolve(const Claim& claim, SteadyTime sent,
                                               const Error& unknown, const Limit& limit) {
  Clock& clock = *session_.environment.clock;
  // A wait that is over leaves it to the pinger.
  if (limit.over(clock)) throw unknown;
  ReadBack answer = read_back(claim);
  if (answer.fate == Fate::uncertain) {
    // Not there yet, but a delayed request may still come until the cutoff has passed.
    const auto call_limit = session_.environment.store->call_limit();
    const EitherStop stop(session_.stopping.get_token(), limit.stop);
    clock.wait_until(std::min(sent + call_limit + call_limit / 8, limit.deadline), stop.token());
    if (limit.over(clock)) throw unknown;
    answer = read_back(claim);
  }
  if (answer.fate == Fate::uncertain) throw unknown;
  return std::move(answer.hold);
}

// A claim that is not there after its cutoff counts as refused. But a write that began in time may
// still take effect, so the claim stays pending.
ClaimSender::ReadBack ClaimSender::read_back(const Claim& claim) {
  Inspection seen;
  try {
    seen = session_.look(name_, Freshness::fresh).seen;
  } catch (const Error& error) {
    log::claim_outcome_unknown(name_, error.what());
    return {};
  }
  Members* const members = session_.environment.store->members();
  const bool by_enough =
      members == nullptr || (seen.lock && seen.lock->members.size() >= members->majority());
  if (seen.lock && seen.lock->ts == claim.ts && by_enough) {
    if (seen.lock->taken()) return {Fate::held, seen.lock};
    return {Fate::not_held, std::nullopt};
  }
  const bool too_late =
      seen.now && seen.now->clock == claim.cutoff.clock && seen.now->time > claim.cutoff.time;
  return {too_late ? Fate::not_held : Fate::uncertain, std::nullopt};
}

void ClaimSender::leave_pending(const Token& ts, SteadyTime sent) noexcept {
  note_unsettled();
  if (session_.fork_guard.in_child()) return;  // Other threads may have had its mutexes.
  const auto call_limit = session_.environment.store->call_limit();
  session_.holds.note_given_up(ts);
  session_.pending.add(name_, ts, sent + protocol::settled_after(options_, call_limit));
}

void ClaimSender::leave_ticket_pending(const Token& ticket, SteadyTime sent) noexcept {
  leave_pending(ticket, sent);
  session_.pending.add_place(name_, ticket);
}

}  // namespace distlock
