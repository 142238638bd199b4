#pragma once

#include <string_view>

#include "distlock/store.h"
#include "stores/mongodb/mongo_bson.h"

namespace distlock {

// The commands of MongoDB's lines (R17, R18): pure, as mongo_commands.h. Places and turns are
// decided as in src/turns.h, in the server's own language.
//
// A line is the field `line` of the lock's document: an object whose keys are the tickets, in the
// order of its fields. An array would be written anew with every change, also into the oplog.

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

}  // namespace distlock
