#pragma once

#include <string_view>

#include "distlock/store.h"
#include "stores/mongodb/mongo_bson.h"

// The parts of the commands that claim and release locks. Inside $expr nothing descends into arrays
// and no type is converted, so that only a number is equal to a number: a malformed document
// matches nothing (R14).
namespace distlock {

Bson equal(BsonValue left, BsonValue right);
Bson type_among(std::string_view field, Bson types);

Bson before_cutoff(const Claim& claim);
/// The fence is absent, or a 64-bit integer that can grow as the claim wants it to (R10).
Bson fence_can_grow(const Claim& claim);
/// The same, or it may stay, since the claim is of the very hold that it starts from (M9).
Bson fence_fits(const ClaimBasis& basis, const Claim& claim);
/// The state is of a type that state_of() takes: a decimal is no state.
Bson state_is_sound();
/// The state is one of a taken lock.
Bson is_taken();

/// All documented fields but the line are as lock_from() reads them, and the fence leaves room for
/// those of the claim.
Bson fields_are_sound(const Claim& claim);

/// The fields that a claim writes, as the argument of $set.
Bson claimed_fields(const Claim& claim);

/// findAndModify that frees what carries `ts`, and gives `shown` of the document as it was.
Bson release_and_show(std::string_view name, const Token& ts, Bson shown);

}  // namespace distlock
