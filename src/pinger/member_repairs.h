#pragma once

#include <string_view>
#include <vector>

#include "distlock/members.h"
#include "pinger/granted_terms.h"

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
/// A member that shows other terms than those that it was granted with shows no hold to be repaired
/// by: somebody has edited it there.
Repair repair_of(std::string_view process, const std::vector<Inspection>& members, const Token& ts,
                 const std::vector<Token>& lacking, const GrantedTerms& terms);

}  // namespace distlock
