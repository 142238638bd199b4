#include "stores/mongodb/mongo_claim_parts.h"

#include <limits>

#include "stores/document.h"

namespace distlock {
namespace {

constexpr std::int64_t kNoFence = 0;

Bson fence_or_none() { return doc({{"$ifNull", array({"$fence", kNoFence})}}); }

// An expression for a field that only the release of a hold changes.
Bson if_taken(BsonValue then, std::string_view otherwise) {
  Bson taken = is_taken();
  return doc({{"$cond", array({std::move(taken), std::move(then), otherwise})}});
}

// An integer less than that, or absent.
Bson fence_below(Fence below) {
  return doc({{"$and", array({type_among("$fence", array({"missing", "long"})),
                              doc({{"$gte", array({fence_or_none(), kNoFence})}}),
                              doc({{"$lt", array({fence_or_none(), below})}})})}});
}

Bson type_of(std::string_view field) { return doc({{"$type", field}}); }

// Each type is that one. A free lock needs no such field.
Bson are(Bson types, std::string_view type) {
  Bson or_none = doc({{"$cond", array({is_taken(), type, "missing"})}});
  return doc({{"$setIsSubset", array({std::move(types), array({type, std::move(or_none)})})}});
}

Bson length_of(std::string_view field) {
  return doc({{"$strLenBytes", doc({{"$ifNull", array({field, ""})}})}});
}

// An $and ends with the first condition that fails, so the server measures nothing but texts.
Bson texts_are_sound() {
  Bson types = array({type_of("$process"), type_of("$who"), type_of("$why")});
  Bson lengths = array({length_of("$process"), length_of("$who"), length_of("$why")});
  Bson longest = doc({{"$max", std::move(lengths)}});
  return doc(
      {{"$and",
        array({are(std::move(types), "string"),
               doc({{"$lte", array({std::move(longest), std::int64_t{kTextBytesMost}})}})})}});
}

Bson window_is_sound() {
  Bson window = doc({{"$ifNull", array({"$takeover_after", std::int64_t{0}})}});
  return doc({{"$and", array({type_among("$takeover_after", array({"missing", "long"})),
                              doc({{"$gte", array({std::move(window), std::int64_t{0}})}})})}});
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

Bson fields_are_sound(const Claim& claim) {
  Bson state = doc({{"$in", array({"$state", array({0, 1, 2})})}});
  return doc({{"$and", array({state_is_sound(), std::move(state), texts_are_sound(),
                              are(array({type_of("$when")}), "date"),
                              are(array({type_of("$ts")}), "objectId"), window_is_sound(),
                              fence_below(first_fence_most(claim.fences)),
                              type_among("$freed_at", array({"missing", "date"}))})}});
}

Bson state_is_sound() { return type_among("$state", array({"int", "long", "double"})); }

Bson is_taken() {
  return doc(
      {{"$and", array({state_is_sound(), doc({{"$in", array({"$state", array({1, 2})})}})})}});
}

Bson release_and_show(std::string_view name, const Token& ts, Bson shown) {
  Bson freed =
      doc({{"state", if_taken(0, "$state")}, {"freed_at", if_taken("$$NOW", "$freed_at")}});
  return doc({{"findAndModify", kLocks},
              {"query", doc({{"_id", name}, {"$expr", equal("$ts", ts)}})},
              {"update", array({doc({{"$set", std::move(freed)}})})},
              {"fields", std::move(shown)}});
}

}  // namespace distlock
