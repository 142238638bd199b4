#pragma once

#include <vector>

#include "distlock/members.h"

// Merges the answers of members, which may disagree, into one answer (M8). Pure.
namespace distlock::mirrored {

/// Merges the looks of the members that count at one lock. `lock` is the record that most of them
/// carry, and lists them: a taken one if fewer than a majority are free or have no document,
/// otherwise a free one. It is empty if a majority has no document. `ping` and `now` are of the
/// first member that carries it.
Inspection merged(std::vector<Inspection> members, std::size_t majority);

/// Merges listings: each lock and each process once, by name, without the members' identities. Each
/// lock is as a look shows it. Clocks are named by clock_name().
Listing merged(std::vector<MemberListing> members, std::size_t majority);

/// The same listings. Where a look leaves a member out for its great fence, the lock is a problem.
std::vector<MemberListing> without_great_fences(std::vector<MemberListing> members,
                                                std::size_t majority);

/// The same listings, with MemberListing::over.
std::vector<MemberListing> with_ends_of_holds(std::vector<MemberListing> members,
                                              std::size_t majority);

struct MemberHolds {
  Token member;
  std::vector<StoredHold> holds;
};
/// Merges the holds of one process. A hold on fewer than `majority` members is not `by_majority`.
std::vector<StoredHold> merged(const std::vector<MemberHolds>& members, std::size_t majority);

}  // namespace distlock::mirrored
