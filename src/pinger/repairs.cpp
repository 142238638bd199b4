#include "pinger/repairs.h"

#include <algorithm>
#include <utility>

#include "log.h"
#include "pinger/known_tokens.h"

namespace distlock {

// A member that did not confirm the last ping is away, and would be asked in vain.
std::vector<MemberPing> Repairs::recent_pings() const {
  std::vector<MemberPing> pings = environment_.store->members()->pings(environment_.process);
  SteadyTime latest = SteadyTime::min();
  for (const MemberPing& ping : pings) latest = std::max(latest, ping.sent);
  std::erase_if(pings, [&](const MemberPing& ping) {
    return !ping.counts || latest - ping.sent >= options_.ping_every;
  });
  return pings;
}

bool Repairs::due() {
  if (environment_.store->members() == nullptr) return false;
  if (!more()) find_due();
  return more();
}

// A look at a hold costs as much as a claim, so none is made in vain in each round.
void Repairs::find_due() {
  const std::vector<MemberPing> pings = recent_pings();
  const SteadyTime now = environment_.clock->steady_now();
  std::set<HoldOnMember> still_hopeless;
  for (auto& [hold, members] : holds_.unprotected(pings, now)) {
    bool hope = false;
    for (const Token& member : members) {
      const HoldOnMember there{hold.ts, member};
      const bool none = hopeless_.contains(there);
      if (none) still_hopeless.insert(there);
      hope = hope || !none;
    }
    if (hope) due_.push_back(std::move(hold));
  }
  hopeless_ = std::move(still_hopeless);
}

void Repairs::do_next(ChoreTime& time) {
  if (!seen_) {
    const ActiveHold hold = std::move(due_.front());
    due_.pop_front();
    look_at(hold);
    if (!seen_ || !time.for_a_call()) return;
  }
  const Seen seen = *std::exchange(seen_, std::nullopt);
  repair(seen);
}

void Repairs::look_at(const ActiveHold& hold) {
  const SteadyTime now = environment_.clock->steady_now();
  const std::vector<Token> lacking = holds_.unprotecting(hold, recent_pings(), now);
  if (lacking.empty()) return;
  const Inspection seen = environment_.store->inspect(hold.hold->name, Freshness::fresh);
  Repair repair =
      repair_of(environment_.process, seen.members, hold.ts, lacking, holds_.terms_of(hold));
  for (const Token& member : repair.hopeless) hopeless_.emplace(hold.ts, member);
  for (const Token& member : seen.left_out) hopeless_.emplace(hold.ts, member);
  if (!repair.bases.empty()) seen_ = {hold, std::move(repair)};
}

// The pings are from before the claims are sent, as those of any claim (R9).
void Repairs::repair(const Seen& seen) {
  const auto& [hold, repair] = seen;
  std::vector<MemberPing> pings = recent_pings();
  const std::vector<Token> granted = environment_.store->members()->repair(
      hold.hold->name, repair.bases, repair.claim,
      [&, &hold = hold] { return holds_.valid(hold, environment_.clock->steady_now()); });
  if (granted.empty()) return;
  std::erase_if(pings, [&](const MemberPing& ping) {
    return std::find(granted.begin(), granted.end(), ping.member) == granted.end();
  });
  if (holds_.protect(hold, pings, environment_.clock->steady_now())) {
    // By pings of other threads since.
    holds_.extend(recent_pings(), environment_.clock->steady_now());
    return log::repaired(hold.hold->name, granted.size());
  }
  // Its release may have come to these members before the claim.
  const KnownTokens known(holds_, pending_);
  if (!known.contains(hold.ts)) pending_.add(hold.hold->name, hold.ts);
}

}  // namespace distlock
