#pragma once

#include <chrono>
#include <string_view>
#include <vector>

#include "distlock/store.h"
#include "stores/mongodb/mongo_bson.h"
#include "stores/those_in_line.h"

namespace distlock {

// The commands that the MongoDB store sends: pure functions of their arguments. Nothing here asks
// a clock; the server puts its own in with `$$NOW` (R4).

/// findAndModify that gives the new document, or null if `basis` does not hold any more (R2) or the
/// cutoff has passed (R8). FromAbsent: error 11000 if there is a document; past the cutoff it
/// leaves and gives a free one.
Bson claim_command(std::string_view name, const ClaimBasis& basis, const Claim& claim);

/// findAndModify that gives `_id` and `state` of the document as it was, or null if it does not
/// carry `ts` (R3). Only state 1 and 2 become 0.
Bson release_command(std::string_view name, const Token& ts);

/// aggregate that gives nothing or one document: `lock`, `ping` (an array), `now`.
Bson inspect_command(std::string_view name);

/// findAndModify that gives the new document.
Bson ping_command(std::string_view process, std::string_view clock, const PingHealth& health);
Bson remove_ping_command(std::string_view process);

/// aggregate that gives `_id`, `ping` and `clock` of at most `kForgetAtOnce` pings whose process
/// holds nothing (R13). They are older than `age` by the server's clock; pings by another clock
/// than `clock` are older by one more day.
Bson forgettable_pings_command(std::chrono::milliseconds age, std::string_view clock);
inline constexpr std::int32_t kForgetAtOnce = 1000;

/// delete of those of `pings` that are still exactly as the server gave them.
Bson forget_pings_command(const std::vector<PingRecord>& pings);

/// aggregate that gives `_id` and `ts` of what the process holds.
Bson holds_command(std::string_view process);

/// find of all documents, by `_id`.
Bson everything_command(std::string_view collection);

/// find of all locks with a line.
Bson lines_command();
/// find of the locks of these names, and of what the processes in line hold and have taken since.
Bson taken_since_command(const ThoseInLine& those, const std::vector<std::string>& names);
/// find of the pings of these processes.
Bson pings_command(const std::set<std::string, std::less<>>& processes);

/// Gives `localTime`, among much else. Under its old name, the only one that every version knows.
Bson hello_command();

/// createIndexes of what forget_pings() and holds() need; the same that MongoDB's own later
/// generations have on these collections.
Bson lock_index_command();
Bson ping_index_command();

}  // namespace distlock
