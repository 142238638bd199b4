#pragma once

#include <string>
#include <vector>

#include "distlock/members.h"

namespace distlock {

/// After the last round of claims, all refused without a reason: returns if another may have held
/// the lock at some moment between two looks, and throws `not_applied` otherwise (R2). `own`: the
/// `ts` of the call's own claims, which stay in documents after they were undone.
void check_busy(const std::string& name, const Inspection& before, const Inspection& after,
                const std::vector<Token>& own);

/// Of a lock that is seen taken. Throws `outcome_unknown` if a claim of the same call has it, which
/// the store had begun in time and ended late (R8). `members`: of a mirrored store, or null.
void check_not_own(const std::string& name, const Inspection& seen, const std::vector<Token>& own,
                   const Members* members);

}  // namespace distlock
