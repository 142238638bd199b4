#include "stores/mongodb/mongo_claim_parts.h"

#include <limits>

#include "stores/document.h"

namespace distlock {
namespace {

constexpr std::int64_t kNoFence = 0;

Bson fence_or_none() { return doc({{"$ifNull", array({"$fence", kNoFence})}}); }

// An expression for a field that only the release of a hold changes.
Bson if_taken(BsonValue then, std::string_view otherwise) {
  Bson taken =
      doc({{"$and", array({state_is_sound(), doc({{"$in", array({"$state", array({1, 2})})}})})}});
  return doc({{"$cond", array({std::move(taken), std::move(then), otherwise})}});
}

// An integer less than that, or absent.
Bson fence_below(Fence below) {
  return doc({{"$and", array({type_among("$fence", array({"missing", "long"})),
                              doc({{"$gte", array({fence_or_none(), kNoFence})}}),
                              doc({{"$lt", array({fence_or_none(), below})}})})}});
}

// The last of its fences. That there is room for all is another condition of the claim.
BsonValue fence_after(const Claim& claim) {
  if (claim.fence != 0) return claim.fence + (claim.fences - 1);
  return doc({{"$add", array({fence_or_none(), claim.fences})}});
}

}  // namespace

Bson equal(BsonValue left, BsonValue right) {
  return doc({{"$eq", array({std::move(left), std::move(right)})}});
}

Bson type_among(std::string_view field, Bson types) {
  return doc({{"$in", array({doc({{"$type", field}}), std::move(types)})}});
}

Bson before_cutoff(const Claim& claim) {
  return doc({{"$lte", array({"$$NOW", claim.cutoff.time})}});
}

Bson fence_can_grow(const Claim& claim) {
  return fence_below(claim.fence == 0 ? first_fence_most(claim.fences) : claim.fence);
}

Bson fence_fits(const ClaimBasis& basis, const Claim& claim) {
  const bool may_stay = claim.fence != 0 && may_keep_fence(basis, claim);
  return may_stay ? fence_below(claim.fence + 1) : fence_can_grow(claim);
}

Bson claimed_fields(const Claim& claim) {
  return doc({{"state", static_cast<std::int32_t>(LockState::taken)},
              {"process", literal(claim.process)},
              {"who", literal(claim.who)},
              {"why", literal(claim.why)},
              {"when", "$$NOW"},
              {"ts", claim.ts},
              {"fence", fence_after(claim)},
              {"takeover_after", std::int64_t{claim.takeover_after.count()}}});
}

Bson state_is_sound() { return type_among("$state", array({"int", "long", "double"})); }

Bson release_and_show(std::string_view name, const Token& ts, Bson shown) {
  Bson freed =
      doc({{"state", if_taken(0, "$state")}, {"freed_at", if_taken("$$NOW", "$freed_at")}});
  return doc({{"findAndModify", kLocks},
              {"query", doc({{"_id", name}, {"$expr", equal("$ts", ts)}})},
              {"update", array({doc({{"$set", std::move(freed)}})})},
              {"fields", std::move(shown)}});
}

}  // namespace distlock
