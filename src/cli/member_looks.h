#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/takeover.h"
#include "distlock/members.h"

// How each member of a mirrored store shows a lock, and which member decides about it (M4, M5).
namespace distlock::cli {

/// A ping, and the clock of the member that it is on. Both name the clock as a mirrored store does.
struct PingOnMember {
  PingRecord ping;
  StoreNow now;
};

/// The listings of all members that count, by lock. They must outlive it.
class MemberLooks {
 public:
  explicit MemberLooks(const std::vector<MemberListing>& listings);

  /// As Inspection::members: without those whose document of the lock or of its holder's ping is
  /// malformed.
  std::vector<Inspection> at(const std::string& name) const;
  /// Of the pings, latest first, the one that makes a majority. Nothing where fewer members have
  /// one.
  std::optional<PingOnMember> ping_of(const std::string& process, std::size_t majority) const;

 private:
  struct OfOne {
    const MemberListing* all;
    std::map<std::string, const Listed<LockRecord>*> locks;
    std::map<std::string, const Listed<PingRecord>*> pings;
  };
  std::vector<OfOne> members_;
};

/// The holds that members carry and that are not the record shown. Each is on fewer than a majority
/// of them, and lists them.
std::vector<LockRecord> holds_beside(const std::optional<LockRecord>& shown,
                                     const std::vector<Inspection>& members);

/// A member, and whether a contender could get it.
struct OnMember {
  Inspection seen;
  Takeover takeover;
};

/// Of the members, in the order in which a contender could get them, the one that makes a majority.
/// Nothing if they are no majority.
std::optional<OnMember> deciding(std::vector<OnMember> members, std::size_t majority);

}  // namespace distlock::cli
