#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mongodb/mongo_bson.h"

namespace distlock {

// The commands of MongoDB's bell (R19): pure, as mongo_commands.h.

inline constexpr std::string_view kLockBells = "lockbells";
/// Of the bell's capped collection. A ring that is overwritten before it is heard costs a look
/// (R19).
inline constexpr std::int64_t kLockBellsBytes = 1 << 20;

/// create. Error 48 where the collection exists.
Bson create_bells_command();

/// explain of a tail, which is an error where there is a view, or a collection that is not capped.
/// A find would leave a cursor.
Bson explain_tail_command();

/// find of one document at most: one that is no ring, as ring_command() writes them.
Bson find_other_than_rings_command();

/// convertToCapped of what an insert has made. The oldest documents are gone if not all fit in.
Bson cap_bells_command();

/// find that stays open, for the rings of one process.
Bson listen_command(std::string_view process);

/// insert of one ring.
Bson ring_command(std::string_view name, const std::vector<std::string>& processes);

}  // namespace distlock
