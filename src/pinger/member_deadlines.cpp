#include "pinger/member_deadlines.h"

#include <algorithm>

namespace distlock {
namespace {

bool is_among(const std::vector<Token>& members, const Token& member) {
  return std::find(members.begin(), members.end(), member) != members.end();
}

}  // namespace

void MemberDeadlines::begin(const std::vector<MemberPing>& pings, std::size_t majority,
                            std::chrono::nanoseconds span) {
  majority_ = majority;
  deadlines_.clear();
  for (const MemberPing& ping : pings) {
    if (ping.counts) deadlines_.push_back({ping.member, ping.sent + span});
  }
}

void MemberDeadlines::extend(const std::vector<MemberPing>& pings, std::chrono::nanoseconds span) {
  for (const MemberPing& ping : pings) {
    for (Deadline& deadline : deadlines_) {
      if (deadline.member != ping.member || ping.sent + span <= deadline.until) continue;
      const bool in_time = ping.received < deadline.until;
      deadline.until = in_time ? ping.sent + span : SteadyTime::min();
    }
  }
}

void MemberDeadlines::keep_only(const std::vector<Token>& members) {
  std::erase_if(deadlines_, [&](const Deadline& one) { return !is_among(members, one.member); });
}

void MemberDeadlines::drop(const std::vector<Token>& members) {
  std::erase_if(deadlines_, [&](const Deadline& one) { return is_among(members, one.member); });
}

void MemberDeadlines::add(const MemberPing& ping, std::chrono::nanoseconds span) {
  std::erase_if(deadlines_, [&](const Deadline& one) { return one.member == ping.member; });
  deadlines_.push_back({ping.member, ping.sent + span});
}

void MemberDeadlines::drop(const Token& member) noexcept {
  std::erase_if(deadlines_, [&](const Deadline& one) { return one.member == member; });
}

bool MemberDeadlines::protects(const Token& member, SteadyTime now) const {
  return std::any_of(deadlines_.begin(), deadlines_.end(),
                     [&](const Deadline& one) { return one.member == member && now < one.until; });
}

// Takes no memory: a member that is dropped where there is none makes the deadline sooner all the
// same.
SteadyTime MemberDeadlines::until() const noexcept {
  SteadyTime until = SteadyTime::min();
  for (const Deadline& one : deadlines_) {
    const auto as_long = std::count_if(deadlines_.begin(), deadlines_.end(),
                                       [&](const auto& other) { return other.until >= one.until; });
    if (static_cast<std::size_t>(as_long) >= majority_) until = std::max(until, one.until);
  }
  return until;
}

}  // namespace distlock
