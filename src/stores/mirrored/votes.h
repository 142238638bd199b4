#pragma once

#include <optional>
#include <vector>

#include "distlock/record.h"
#include "stores/mirrored/fan_out.h"
#include "stores/mirrored/quorum.h"

// The replies to a claim, as votes (M2, M3).
namespace distlock::mirrored {

/// The answer of one member to a claim: the record that it granted, or nothing where it refused.
struct ClaimAnswer {
  std::optional<LockRecord> granted;
};

/// Whether the member granted the claim, or may have.
bool perhaps_granted(const Reply<ClaimAnswer>& reply);

/// Whether a claim that perhaps_granted() is there no more, by the member's answer to its release:
/// that has freed it, or somebody else has by then.
bool is_gone(const Reply<ClaimAnswer>& claim, const Reply<ReleaseResult>& release);

/// One vote of each member, for a claim with that fence on members of that set.
std::vector<Vote> votes_of(const Replies<ClaimAnswer>& replies, const Token& set, Fence fence);

/// The record of a claim that is held, with the members that granted it. `votes` grant it.
LockRecord held_record(const Replies<ClaimAnswer>& replies, const std::vector<Vote>& votes);

/// Why nobody knows whether the claim is held: an `outcome_unknown`.
Error unknown_outcome(const Replies<ClaimAnswer>& replies);
/// Of a claim that is certainly not held. Returns if no member failed. Throws `not_applied` if
/// those that deny it for good leave a majority of others, and their error otherwise.
void throw_failure_in(const Replies<ClaimAnswer>& replies);

}  // namespace distlock::mirrored
