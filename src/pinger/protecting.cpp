#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "carries.h"
#include "pinger/holds.h"

// Which members of a mirrored store protect a hold (M5), and how they become more (M9).
namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

std::vector<Token> members_without(const MemberDeadlines& deadlines,
                                   const std::vector<MemberPing>& pings, SteadyTime now) {
  std::vector<Token> members;
  for (const MemberPing& ping : pings) {
    if (!deadlines.protects(ping.member, now)) members.push_back(ping.member);
  }
  return members;
}

}  // namespace

std::vector<Holds::Unprotected> Holds::unprotected(const std::vector<MemberPing>& pings,
                                                   SteadyTime now) const {
  const Guard lock(mutex_);
  std::vector<Unprotected> holds;
  for (const auto& [number, hold] : enlisted_) {
    if (!hold->active) continue;
    std::vector<Token> by = members_without(hold->deadlines, pings, now);
    if (!by.empty()) holds.push_back({{hold, hold->ts}, std::move(by)});
  }
  return holds;
}

// With the mutex: it was not given up, lost or passed on since.
bool Holds::is_there(const ActiveHold& hold) {
  return hold.hold->active && hold.hold->ts == hold.ts;
}

std::vector<Token> Holds::unprotecting(const ActiveHold& hold, const std::vector<MemberPing>& pings,
                                       SteadyTime now) const {
  const Guard lock(mutex_);
  if (!is_there(hold)) return {};
  return members_without(hold.hold->deadlines, pings, now);
}

bool Holds::valid(const ActiveHold& hold, SteadyTime now) const {
  const Guard lock(mutex_);
  return is_there(hold) && !hold.hold->validity.over(now);
}

// At each moment of a valid hold a majority protects it, which no rival can take meanwhile. So a
// member may come to them as long as the hold is valid, and not to one that has ended.
bool Holds::protect(const ActiveHold& hold, const std::vector<MemberPing>& pings, SteadyTime now) {
  std::stop_source changed(std::nostopstate);
  {
    const Guard lock(mutex_);
    Hold& one = *hold.hold;
    if (!is_there(hold) || one.validity.over(now)) return false;
    const SteadyTime before = one.validity.until();
    for (const MemberPing& ping : pings) one.deadlines.add(ping, one.validity_span);
    one.validity.extend_to(one.deadlines.until(), now);
    if (moves_on(one, before)) changed = changed_;
  }
  changed.request_stop();
  return true;
}

bool Holds::counts_on(const ActiveHold& hold, const std::vector<Token>& members,
                      SteadyTime now) const {
  const Guard lock(mutex_);
  const auto protects = [&](const Token& member) {
    return hold.hold->deadlines.protects(member, now);
  };
  return is_there(hold) && std::any_of(members.begin(), members.end(), protects);
}

// The watch learns of the earlier deadline.
void Holds::unprotect(const ActiveHold& hold, const std::vector<Token>& members) {
  {
    const Guard lock(mutex_);
    if (!is_there(hold)) return;
    hold.hold->deadlines.drop(members);
    hold.hold->validity.shorten_to(hold.hold->deadlines.until());
  }
  wake_watch();
}

GrantedTerms Holds::terms_of(const ActiveHold& hold) const {
  const Guard lock(mutex_);
  return hold.hold->terms;
}

// Takes no memory, as unprotect(): the watch must hear of what has become sooner.
void Holds::forget_members(const std::vector<MemberPing>& pings) {
  bool sooner = false;
  {
    const Guard lock(mutex_);
    for (const auto& [number, hold] : enlisted_) {
      for (const MemberPing& ping : pings) {
        const bool lost_it = !carries_for_majority(hold->terms.fence, ping.fence_of_lost);
        if (ping.counts && !(hold->active && lost_it)) continue;
        if (!ping.counts) hold->claim_deadlines.drop(ping.member);
        sooner = true;
        if (!hold->active) continue;
        hold->deadlines.drop(ping.member);
        hold->validity.shorten_to(hold->deadlines.until());
      }
    }
  }
  if (sooner) wake_watch();
}

}  // namespace distlock
