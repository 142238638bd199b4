#pragma once

#include <vector>

#include "distlock/store.h"

// Merges the answers of members, which may disagree, into one answer (M8). Pure.
namespace distlock::mirrored {

/// Merges the looks of the members that count at one lock. `lock` is the record that most of them
/// carry, and lists them. It is empty if a majority has no document. `ping` and `now` are of the
/// first member that carries it.
Inspection merged(std::vector<Inspection> members, std::size_t majority);

/// Names each clock in it by clock_name().
void name_clocks(Listing& listing, const Token& member);

/// Merges listings: each lock and each process once, by name, without the members' identities.
Listing merged(const std::vector<Listing>& members);

/// Merges the holds of one process. A hold on fewer than `majority` members is not `by_majority`.
std::vector<StoredHold> merged(const std::vector<std::vector<StoredHold>>& members,
                               std::size_t majority);

}  // namespace distlock::mirrored
