#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/store.h"
#include "stores/document.h"
#include "stores/sqlite/sqlite_connection.h"

// The reads and writes of one lock: its row in `locks`, and its line in `waiters`. Each function is
// a part of a call that was begun.
namespace distlock {

struct SqliteRow {
  Document lock;  ///< With its line.
  Document ping;  ///< Of its process; may be empty.
};

/// One statement. Nothing: no row has this name.
std::optional<SqliteRow> row_of(const SqliteConnection& connection, std::string_view name);

/// A claim from a free lock is for a lock with nobody in line, or R17 lets it pass those in line.
enum class InLine { nobody, may_pass };
/// One statement: compares, and sets. Nothing: it found nothing to claim.
std::optional<LockRecord> claim_row(SqliteConnection& connection, std::string_view name,
                                    const ClaimBasis& basis, const Claim& claim, InLine in_line);

/// Brings the stored line from what it was to what it is to be, places at its end included.
void write_line(SqliteConnection& connection, std::string_view name,
                const std::vector<Waiter>& before, const std::vector<Waiter>& after);

/// One statement; nothing happens if there is no such place.
void remove_place(SqliteConnection& connection, std::string_view name, const Token& ticket);

/// The result of a release, and whether somebody stands in line.
struct SqliteRelease {
  ReleaseResult result = ReleaseResult::not_ours;
  bool awaited = false;
};
SqliteRelease release_row(SqliteConnection& connection, std::string_view name, const Token& ts);

}  // namespace distlock
