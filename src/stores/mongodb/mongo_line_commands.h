#pragma once

#include <string_view>
#include <vector>

#include "distlock/store.h"
#include "stores/mongodb/mongo_bson.h"

namespace distlock {

// The commands of MongoDB's lines and bell (R17 to R19): pure, as mongo_commands.h. Places and
// turns are decided as in src/turns.h, in the server's own language.
//
// A line is the field `line` of the lock's document: an object whose keys are the tickets, in the
// order of its fields. An array would be written anew with every change, also into the oplog.

inline constexpr std::string_view kLockBells = "lockbells";
/// Of the bell's capped collection. A ring that is overwritten before it is heard costs a look
/// (R19).
inline constexpr std::int64_t kLockBellsBytes = 1 << 20;

/// Whether the lock's document, which is free, may be claimed by somebody who is not in line.
Bson newcomers_turn();

/// Its line after a claim by that ticket, as the value of `line`.
Bson line_after_claim(const Token& ticket);

/// findAndModify that gives the new document. Of its line it gives only the ticket's own place.
Bson stand_command(std::string_view name, const Claim& claim);

/// findAndModify that takes the ticket out.
Bson leave_command(std::string_view name, const Token& ticket);

/// As release_command(), and gives the line as well.
Bson release_and_tell_command(std::string_view name, const Token& ts);

/// create. Error 48 where the collection exists.
Bson create_bells_command();

/// convertToCapped of what an insert has made.
Bson cap_bells_command();

/// find that stays open, for the rings of one process.
Bson listen_command(std::string_view process);

/// insert of one ring.
Bson ring_command(std::string_view name, const std::vector<std::string>& processes);

}  // namespace distlock
