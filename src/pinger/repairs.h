#pragma once

#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "distlock/members.h"
#include "distlock/options.h"
#include "distlock/pinger.h"
#include "pinger/chore_time.h"
#include "pinger/holds.h"
#include "pinger/pending_releases.h"

namespace distlock {

/// Writes this process's holds to members of a mirrored store that lack them (M9). Then the next
/// member may be away without a loss. Not synchronised.
class Repairs {
 public:
  Repairs(const Environment& environment, const PingerOptions& options, Holds& holds,
          PendingReleases& pending)
      : environment_(environment), options_(options), holds_(holds), pending_(pending) {}

  /// Whether some hold is yet to be repaired. Makes no call of the store. False while all members
  /// that answer protect all holds, and on other stores.
  bool due();
  bool more() const { return !due_.empty(); }
  /// Repairs one that is due, with two calls, after the caller has asked for the first of them.
  /// Errors: those of a look.
  void do_next(ChoreTime& time);

 private:
  using HoldOnMember = std::pair<Token, Token>;

  void find_due();
  std::vector<MemberPing> recent_pings() const;
  void repair(const ActiveHold& hold, ChoreTime& time);

  const Environment& environment_;
  const PingerOptions& options_;
  Holds& holds_;
  PendingReleases& pending_;
  std::deque<ActiveHold> due_;
  std::set<HoldOnMember> hopeless_;
};

}  // namespace distlock
