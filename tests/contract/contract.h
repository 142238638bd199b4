#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "support/store_under_test.h"

// Shared by the cases of the contract: a store, and short words for the documents they write.
namespace distlock::testing {

/// A token like no other of this run.
Token new_token();

/// `seconds` is enough for any call of these tests; by the store's own clock.
StoreNow cutoff_in(Store& store, std::chrono::milliseconds time_left = std::chrono::seconds{60});

/// A claim by `process` that may be written now.
Claim claim_by(Store& store, std::string process);

/// Claims what must be claimable.
LockRecord claimed(Store& store, std::string_view name, const ClaimBasis& basis,
                   const Claim& claim);
/// The same, of a lock that nobody has ever claimed, by "holder".
LockRecord held(Store& store, std::string_view name);

/// Checks that a look shows this record, which a claim has given.
void check_shown(Store& store, const LockRecord& lock);

/// Documents as the original writes them.
Document free_lock(std::string_view name);
Document taken_lock(std::string_view name, std::string_view process, const Token& ts);
Document ping_document(std::string_view process, StoreTime ping);

/// `document` with one field set to another value, or added.
Document with(Document document, std::string_view field, Value value);
Document without(const Document& document, std::string_view field);

const Value* field_of(const Document& document, std::string_view field);

}  // namespace distlock::testing
