#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "distlock/clock.h"
#include "distlock/members.h"

namespace distlock {

/// Until when the members of a mirrored store protect one hold or claim (M5). Member i protects it
/// until D_i: a span after the sending of the last ping that i has confirmed. A rival needs a
/// majority of members that protect nobody, so the hold is valid for as long as a majority protects
/// it:
///
///   until() = the Q-th latest of all D_i, where Q is the majority; fewer than Q: the distant past.
///
/// N = 3, Q = 2:
///
///   got      D_i               until()
///   1 2      10 s, 13 s        10 s    the rival takes 1, and 3
///   1 2 3    10 s, 13 s, 4 s   10 s    at 4 s the rival could take 3 alone
///   1        10 s              -       it never was a hold
///
/// A member whose D_i has passed before a ping was confirmed protects the hold no more, whatever it
/// confirms later: a rival may have decided to take it, and be on the way. It protects the hold
/// again once it has granted it anew (M9). So does one that was seen without the hold: somebody has
/// freed it there. Not synchronised.
class MemberDeadlines {
 public:
  /// From the last confirmed pings, before the claim is sent.
  void begin(const std::vector<MemberPing>& pings, std::size_t majority,
             std::chrono::nanoseconds span);
  void extend(const std::vector<MemberPing>& pings, std::chrono::nanoseconds span);
  /// Those that granted the claim; the others protect nothing.
  void keep_only(const std::vector<Token>& members);
  /// That member has granted the hold, or granted it anew, after this ping.
  void add(const MemberPing& ping, std::chrono::nanoseconds span);
  /// These do not carry the hold any more, so that a rival may have them at any moment.
  void drop(const std::vector<Token>& members);
  void drop(const Token& member) noexcept;
  bool protects(const Token& member, SteadyTime now) const;
  SteadyTime until() const noexcept;

 private:
  struct Deadline {
    Token member;
    SteadyTime until;
  };
  std::vector<Deadline> deadlines_;
  std::size_t majority_ = 1;
};

}  // namespace distlock
