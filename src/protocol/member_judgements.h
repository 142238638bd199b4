#pragma once

#include <cstddef>
#include <vector>

#include "protocol/protocol.h"

namespace distlock::protocol {

/// The judgement of a lock on a mirrored store, from those of the members that answered (M4): busy
/// unless a majority may be claimed from, and dead only if those that are free are no majority.
Judgement judge_members(const std::vector<Judgement>& members, std::size_t majority);

}  // namespace distlock::protocol
