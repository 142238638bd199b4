#pragma once

#include <string>
#include <vector>

#include "distlock/store.h"

namespace distlock {

/// After the last round of claims, all refused without a reason: returns if another may have held
/// the lock at some moment between two looks, and throws `not_applied` otherwise (R2). `own`: the
/// `ts` of the call's own claims, which stay in documents after they were undone.
void check_busy(const std::string& name, const Inspection& before, const Inspection& after,
                const std::vector<Token>& own);

}  // namespace distlock
