#pragma once

#include <vector>

#include "distlock/store.h"

// The one picture that members give which may disagree (M8). Pure.
namespace distlock::mirrored {

/// Of one lock, from the members that count. `lock` is the record that most of them carry, and
/// names them; `ping` and `now` are of the first of these. Nothing if a majority has no document.
Inspection merged(std::vector<Inspection> members, std::size_t majority);

/// Of all locks and processes, each once, by name, without the members' identities.
Listing merged(const std::vector<Listing>& members);

/// Of one process. A hold that fewer members than `majority` carry is not `by_majority`.
std::vector<StoredHold> merged(const std::vector<std::vector<StoredHold>>& members,
                               std::size_t majority);

}  // namespace distlock::mirrored
