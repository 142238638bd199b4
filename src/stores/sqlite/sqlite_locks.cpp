#include "stores/sqlite/sqlite_locks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "distlock/error.h"
#include "stores/sqlite/sqlite_errors.h"
#include "stores/sqlite/sqlite_rows.h"
#include "text.h"

namespace distlock {
namespace {

const SqliteStatement& statement_for(const SqliteStatements& statements, const ClaimBasis& basis) {
  if (std::holds_alternative<FromAbsent>(basis)) return statements.claim_absent;
  if (std::holds_alternative<FromFree>(basis)) return statements.claim_free;
  return statements.claim_hold;
}

// The `ts` that the document must carry, or nothing.
std::string ts_of(const ClaimBasis& basis) {
  if (const auto* hold = std::get_if<FromHold>(&basis)) return to_hex(hold->ts);
  const auto* free = std::get_if<FromFree>(&basis);
  return free != nullptr && free->ts ? to_hex(*free->ts) : "";
}

// The places of a line by their tickets. Both may be very long.
class Places {
 public:
  explicit Places(const std::vector<Waiter>& line) {
    by_ticket_.reserve(line.size());
    for (const Waiter& waiter : line) by_ticket_.push_back(&waiter);
    std::sort(by_ticket_.begin(), by_ticket_.end(),
              [](const Waiter* one, const Waiter* other) { return one->ticket < other->ticket; });
  }

  // Null: there is none.
  const Waiter* of(const Token& ticket) const {
    const auto at = std::lower_bound(
        by_ticket_.begin(), by_ticket_.end(), ticket,
        [](const Waiter* waiter, const Token& sought) { return waiter->ticket < sought; });
    return at != by_ticket_.end() && (*at)->ticket == ticket ? *at : nullptr;
  }

 private:
  std::vector<const Waiter*> by_ticket_;
};

std::int64_t count_of(StoreTime time) { return time.time_since_epoch().count(); }

// Nothing of a malformed one, which the next look finds.
std::optional<StoreTime> time_at(const SqliteRun& run, int column) {
  if (sqlite3_column_type(run.get(), column) != SQLITE_INTEGER) return std::nullopt;
  return StoreTime{std::chrono::milliseconds{run.integer(column)}};
}

// Why nothing was freed; or nothing, if now there is something to free.
std::optional<ReleaseResult> release_without_effect(const SqliteConnection& connection,
                                                    std::string_view name, const Token& ts) {
  const auto row = row_of(connection, name);
  if (!row || !carries(row->lock, ts)) return ReleaseResult::not_ours;
  if (required_state(row->lock) == LockState::free) return ReleaseResult::already_free;
  return std::nullopt;
}

// A place of the last number is malformed, and so would be all in that line.
void check_number(std::string_view name, std::int64_t number) {
  if (number < std::numeric_limits<std::int64_t>::max()) return;
  throw Error(Errc::bad_record, "lock \"" + escaped(std::string(name)) +
                                    R"(": a line whose last "number" in table "waiters" cannot )"
                                    "grow; nothing was changed");
}

}  // namespace

std::optional<SqliteRow> row_of(const SqliteConnection& connection, std::string_view name) {
  SqliteRun run(connection.statements().inspect);
  if (!run.bind(1, name).step()) return std::nullopt;
  SqliteRow row{document_in(run.get(), 0, kInspectLockColumns),
                document_in(run.get(), kInspectLockColumns, kInspectPingColumns)};
  SqlitePlaces line;
  do {
    line.add(run.get(), kInspectPingColumns);
  } while (run.step());
  line.put_into(row.lock);
  return row;
}

std::optional<LockRecord> claim_row(SqliteConnection& connection, std::string_view name,
                                    const ClaimBasis& basis, const Claim& claim, InLine in_line) {
  const std::string ts = to_hex(claim.ts);
  const std::string from = ts_of(basis);
  SqliteRun run(statement_for(connection.statements(), basis));
  run.bind(1, name).bind(2, claim.process).bind(3, claim.who).bind(4, claim.why).bind(5, ts);
  run.bind(6, claim.takeover_after.count()).bind(7, count_of(claim.cutoff.time));
  if (!from.empty()) run.bind(8, from);
  if (claim.fence != 0) run.bind(10, claim.fence);
  run.bind(11, claim.fences).bind(12, first_fence_most(claim.fences));
  if (!std::holds_alternative<FromAbsent>(basis)) run.bind(13, may_keep_fence(basis, claim));
  const auto* hold = std::get_if<FromHold>(&basis);
  if (hold != nullptr && hold->when) run.bind(9, count_of(*hold->when));
  if (std::holds_alternative<FromFree>(basis) && in_line == InLine::may_pass) run.bind(9, 1);
  if (!run.step()) return std::nullopt;
  LockRecord lock{.name = std::string(name),
                  .state = LockState::taken,
                  .process = claim.process,
                  .who = claim.who,
                  .why = claim.why,
                  .when = time_at(run, 0),
                  .ts = claim.ts,
                  .fence = run.integer(1),
                  .takeover_after = claim.takeover_after};
  if (!std::holds_alternative<FromAbsent>(basis)) lock.freed_at = time_at(run, 2);
  run.finish();
  return lock;
}

void remove_place(SqliteConnection& connection, std::string_view name, const Token& ticket) {
  const std::string hex = to_hex(ticket);
  SqliteRun(connection.statements().remove_place).bind(1, name).bind(2, hex).finish();
}

void write_line(SqliteConnection& connection, std::string_view name,
                const std::vector<Waiter>& before, const std::vector<Waiter>& after) {
  const SqliteStatements& statements = connection.statements();
  const Places kept(after);
  for (const Waiter& waiter : before) {
    if (kept.of(waiter.ticket) != nullptr) continue;
    remove_place(connection, name, waiter.ticket);
  }
  const Places known(before);
  for (const Waiter& waiter : after) {
    const Waiter* old = known.of(waiter.ticket);
    if (old != nullptr && *old == waiter) continue;
    const std::string ticket = to_hex(waiter.ticket);
    SqliteRun run(old != nullptr ? statements.mark_place : statements.add_place);
    run.bind(1, name).bind(2, ticket);
    if (waiter.passed_over) run.bind(3, count_of(*waiter.passed_over));
    if (old == nullptr) {
      run.bind(4, waiter.process).bind(5, waiter.who).bind(6, count_of(waiter.since));
      run.step_to_row();
      check_number(name, run.integer(0));
    }
    run.finish();
  }
}

SqliteRelease release_row(SqliteConnection& connection, std::string_view name, const Token& ts) {
  const std::string hex = to_hex(ts);
  // Between a write and the look after it, a delayed claim of ours may come through.
  constexpr int kRoundsMax = 5;
  for (int round = 0; round < kRoundsMax; ++round) {
    SqliteRun run(connection.statements().release);
    if (run.bind(1, name).bind(2, hex).step()) {
      const bool awaited = run.integer(0) != 0;
      run.finish();
      return {ReleaseResult::freed, awaited};
    }
    const auto result = release_without_effect(connection, name, ts);
    if (result) return {*result, false};
  }
  refuse_lost_write(connection.db().handle(), connection.statements().release.operation());
}

}  // namespace distlock
