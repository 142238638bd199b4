#pragma once

#include <cstddef>
#include <vector>

#include "distlock/members.h"

// From what each member is claimed, where a claim says what it starts from (M2). Pure.
namespace distlock::mirrored {

struct Bases {
  std::vector<MemberBasis> bases;  ///< Empty where the claim is refused.
  Fence greatest = 0;              ///< That any of the members knows.
  Fence of_basis = 0;              ///< The lock's, where the basis holds.
};

/// The bases of a claim from `basis`, by a look at the members that count. The claim is refused
/// unless the basis holds on a majority, and no other member has the lock with a greater fence. The
/// others are claimed from what they are, if nobody has them.
Bases bases_in(const std::vector<Inspection>& members, const ClaimBasis& basis,
               std::size_t majority);

}  // namespace distlock::mirrored
