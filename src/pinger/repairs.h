#pragma once

#include <deque>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "distlock/members.h"
#include "distlock/options.h"
#include "distlock/pinger.h"
#include "pinger/chore_time.h"
#include "pinger/holds.h"
#include "pinger/member_repairs.h"
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
  bool more() const { return seen_ || !due_.empty(); }
  /// Repairs one that is due: a look at it, and a claim. The caller has asked for the time of the
  /// next of them. A claim that has no time is kept for the next round. Errors: those of a look.
  void do_next(ChoreTime& time);

 private:
  using HoldOnMember = std::pair<Token, Token>;
  /// A hold that was looked at, and what would repair it then: from exactly what was there.
  struct Seen {
    ActiveHold hold;
    Repair repair;
  };

  void find_due();
  std::vector<MemberPing> recent_pings() const;
  void look_at(const ActiveHold& hold);
  void repair(const Seen& seen);

  const Environment& environment_;
  const PingerOptions& options_;
  Holds& holds_;
  PendingReleases& pending_;
  std::deque<ActiveHold> due_;
  std::optional<Seen> seen_;
  std::set<HoldOnMember> hopeless_;
};

}  // namespace distlock
