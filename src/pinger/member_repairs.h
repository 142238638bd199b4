#pragma once

#include <string_view>
#include <vector>

#include "distlock/members.h"

namespace distlock {

/// How a hold gets to members of a mirrored store that lack it.
struct Repair {
  std::vector<MemberBasis> bases;
  Claim claim;  ///< Without a cutoff.
  /// Members that will never grant it: their fence is as great as the hold's.
  std::vector<Token> hopeless;
};

/// The repair of the hold of `ts` on those of the members `lacking` where the lock is absent, free,
/// or carries that very hold (M9). Without bases if there is none, or if no member shows the hold.
/// It has the fence and the window that most members show which name `process`. If equally many
/// show two, somebody has edited one, and there is no repair.
Repair repair_of(std::string_view process, const std::vector<Inspection>& members, const Token& ts,
                 const std::vector<Token>& lacking);

}  // namespace distlock
