#include "cli/member_looks.h"

#include <algorithm>
#include <utility>

#include "carries.h"
#include "clock_name.h"
#include "saturating.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

// When it can be had, as far as that can be foretold. Of two at one time the free one comes first.
std::pair<milliseconds, bool> due(const Takeover& one) {
  switch (one.how) {
    case Takeover::How::not_needed:
      return {milliseconds{0}, false};
    case Takeover::How::now:
      return {milliseconds{0}, true};
    case Takeover::How::later:
      return {one.in, true};
    case Takeover::How::by_watching:
      return {one.window, true};
    case Takeover::How::never:
    case Takeover::How::clock_skew:
    case Takeover::How::malformed_ping:
      break;
  }
  return {milliseconds::max(), true};
}

PingOnMember named_by(const Token& member, PingRecord ping, StoreNow now) {
  name_clock(now, member);
  name_clock(ping, member);
  return {std::move(ping), std::move(now)};
}

// Times of two clocks are not compared (R4): such a ping counts as the oldest.
milliseconds age_of(const PingOnMember& one) {
  if (one.ping.clock && *one.ping.clock != one.now.clock) return milliseconds::max();
  return saturating_difference(one.now.time, one.ping.ping);
}

template <class Record>
std::map<std::string, const Listed<Record>*> by_id(const std::vector<Listed<Record>>& all) {
  std::map<std::string, const Listed<Record>*> found;
  for (const Listed<Record>& one : all) {
    if (one.named) found[one.id] = &one;
  }
  return found;
}

}  // namespace

MemberLooks::MemberLooks(const std::vector<MemberListing>& listings) {
  members_.reserve(listings.size());
  for (const MemberListing& one : listings) {
    members_.push_back({&one, by_id(one.listing.locks), by_id(one.listing.pings)});
  }
}

std::vector<Inspection> MemberLooks::at(const std::string& name) const {
  std::vector<Inspection> looks;
  for (const OfOne& member : members_) {
    Inspection seen{.lock = {}, .ping = {}, .now = member.all->listing.now, .fresh = true};
    seen.member = member.all->member;
    seen.fence_of_lost = member.all->fence_of_lost;
    seen.over = std::binary_search(member.all->over.begin(), member.all->over.end(), name);
    const auto lock = member.locks.find(name);
    if (lock != member.locks.end()) {
      if (!lock->second->record) continue;
      seen.lock = lock->second->record;
      const auto ping = member.pings.find(seen.lock->process);
      const bool has_ping = seen.lock->taken() && ping != member.pings.end();
      if (has_ping && !ping->second->record) continue;
      if (has_ping) seen.ping = ping->second->record;
    }
    looks.push_back(std::move(seen));
  }
  return looks;
}

std::optional<PingOnMember> MemberLooks::ping_of(const std::string& process,
                                                 std::size_t majority) const {
  std::vector<PingOnMember> pings;
  for (const OfOne& member : members_) {
    const auto ping = member.pings.find(process);
    if (ping == member.pings.end() || !ping->second->record) continue;
    pings.push_back(named_by(member.all->member, *ping->second->record, member.all->listing.now));
  }
  if (pings.size() < majority) return std::nullopt;
  std::stable_sort(pings.begin(), pings.end(), [](const auto& left, const auto& right) {
    return age_of(left) < age_of(right);
  });
  return std::move(pings[majority - 1]);
}

std::vector<LockRecord> holds_beside(const std::optional<LockRecord>& shown,
                                     const std::vector<Inspection>& members) {
  std::vector<LockRecord> holds;
  for (const Inspection& one : members) {
    if (!one.lock || !one.lock->taken() || carries(shown, one.lock->ts)) continue;
    auto same = std::find_if(holds.begin(), holds.end(),
                             [&](const LockRecord& hold) { return hold.ts == one.lock->ts; });
    if (same == holds.end()) same = holds.insert(holds.end(), *one.lock);
    same->members.push_back(one.member);
  }
  return holds;
}

std::optional<OnMember> deciding(std::vector<OnMember> members, std::size_t majority) {
  if (members.size() < majority) return std::nullopt;
  std::stable_sort(members.begin(), members.end(), [](const OnMember& left, const OnMember& right) {
    return due(left.takeover) < due(right.takeover);
  });
  return std::move(members[majority - 1]);
}

}  // namespace distlock::cli
