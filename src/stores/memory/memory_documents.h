#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "distlock/store.h"
#include "stores/document.h"

// The memory store's reads and writes of one document of `locks`. Pure.
namespace distlock {

/// The fence that this claim leaves behind: the last of those that it gets. Nothing if the stored
/// one is malformed, cannot grow, or is not less than the claim's own (R10, M9).
std::optional<Fence> next_fence(const Document& lock, const ClaimBasis& basis, const Claim& claim);

/// An empty line is no field.
void set_line(Document& lock, std::vector<Waiter> line);

bool past_cutoff(const Claim& claim, const StoreNow& now);
/// Whether `lock` (null: there is none) is still as `basis` says, for this claim.
bool matches(const Document* lock, const ClaimBasis& basis, const Claim& claim,
             const StoreNow& now);

/// Without the line, which depends on the basis.
void write_claim(Document& lock, const Claim& claim, Fence fence, const StoreNow& now);
/// The result of a claim: the record without its line.
LockRecord claimed_record(const Document& lock);

}  // namespace distlock
