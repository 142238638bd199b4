#include "stores/sqlite/sqlite_store.h"

#include <algorithm>
#include <utility>

#include "stores/sqlite/sqlite_connection.h"
#include "stores/sqlite/sqlite_file.h"
#include "stores/sqlite/sqlite_line.h"
#include "stores/sqlite/sqlite_lists.h"
#include "stores/sqlite/sqlite_locks.h"
#include "stores/sqlite/sqlite_rows.h"

namespace distlock {
namespace {

using Access = SqliteConnection::Access;

class SqliteStore : public Store {
 public:
  SqliteStore(const ConnectionString& connection, const StoreOptions& options)
      : connection_(connection, options),
        lists_(connection_, witness_.emplace(connection_.db().file(), connection_.clock().boot,
                                             options.witness)),
        line_(connection_, bell_.emplace(connection_.db().file()), *witness_, lists_) {}

  std::chrono::milliseconds call_limit() const override { return connection_.call_limit(); }

  Inspection inspect(std::string_view name, Freshness freshness) override;
  std::optional<Carried> carried(std::string_view name) override;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override;
  ReleaseResult release(std::string_view name, const Token& ts) override;
  PingRecord ping(std::string_view process, const PingHealth& health) override;
  void remove_ping(std::string_view process) override;
  std::int64_t forget_pings(std::chrono::milliseconds age) override;
  std::vector<StoredHold> holds(std::string_view process) override;
  Listing list() override { return lists_.list(); }
  Line* line() override { return &line_; }
  int share_witness(std::string_view process) override { return witness_->share(process); }

 private:
  /// A look, and the statement on the holder's witness.
  struct Seen {
    Inspection inspection;
    std::string witness;
  };

  Seen see(std::string_view name);
  bool is_awaited(std::string_view name) const;
  std::optional<LockRecord> write_claim(std::string_view name, const ClaimBasis& basis,
                                        const Claim& claim);
  StoreTime write_ping(std::string_view process, const PingHealth& health,
                       const std::optional<std::string>& witness);

  // Outlive the connection.
  std::optional<SqliteBell> bell_;
  std::optional<SqliteWitness> witness_;
  SqliteConnection connection_;
  SqliteLists lists_;
  SqliteLine line_;
};

// The time is read before the row. A process that is stopped between the two then finds the ping
// too young; the other way round it would find a living holder's too old and take over from it.
// A ping that was stamped in between is later than this time; the row's view is as late as that.
SqliteStore::Seen SqliteStore::see(std::string_view name) {
  const SqliteCall call = connection_.begin_call(Access::read);
  Seen seen{{.lock = {}, .ping = {}, .now = connection_.now(), .fresh = true}, {}};
  Inspection& inspection = seen.inspection;
  const auto row = row_of(connection_, name);
  if (!row) return seen;
  inspection.lock = lock_from(row->lock);
  if (!inspection.lock->taken() || row->ping.empty()) return seen;
  inspection.ping = ping_from(row->ping);
  seen.witness = witness_stated_in(row->ping);
  const bool comparable = inspection.ping->clock == connection_.clock().name;
  if (comparable && inspection.ping->ping > inspection.now->time) {
    inspection.now->time = std::min(inspection.ping->ping, connection_.now().time);
  }
  return seen;
}

// The witness after the call, which others wait for: there may be many processes to look at.
Inspection SqliteStore::inspect(std::string_view name, Freshness freshness) {
  const auto give_up_at = connection_.end_of_call();
  auto [inspection, witness] = see(name);
  if (freshness == Freshness::fresh) connection_.cover_claims_of(name, give_up_at);
  if (inspection.ping) {
    inspection.ping->ended =
        has_ended(connection_, *witness_, *inspection.ping, witness, *inspection.lock);
  }
  return inspection;
}

std::optional<Carried> SqliteStore::carried(std::string_view name) {
  const SqliteCall call = connection_.begin_call(Access::read);
  const auto row = row_of(connection_, name);
  return row ? std::optional(carried_in(row->lock)) : std::nullopt;
}

// Whether somebody stands in line for the lock, which is free.
bool SqliteStore::is_awaited(std::string_view name) const {
  const auto row = row_of(connection_, name);
  return row && state_in(row->lock) == LockState::free && find_field(row->lock, "line") != nullptr;
}

std::optional<LockRecord> SqliteStore::claim(std::string_view name, const ClaimBasis& basis,
                                             const Claim& claim) {
  check_fences(claim);
  if (claim.cutoff.clock != connection_.clock().name) return std::nullopt;
  const auto give_up_at = connection_.end_of_call();
  const bool from_free = std::holds_alternative<FromFree>(basis);
  if (from_free && line_.refuses(name, claim, give_up_at)) return std::nullopt;
  auto lock = connection_.write_durably(Access::write, give_up_at, name,
                                        [&] { return write_claim(name, basis, claim); });
  if (!lock) return std::nullopt;
  line_.forget(claim.ts);
  return lock;
}

std::optional<LockRecord> SqliteStore::write_claim(std::string_view name, const ClaimBasis& basis,
                                                   const Claim& claim) {
  if (std::holds_alternative<FromHold>(basis)) {
    return line_.claim_beside(name, basis, claim);
  }
  auto lock = claim_row(connection_, name, basis, claim, InLine::nobody);
  if (lock || !std::holds_alternative<FromFree>(basis) || !is_awaited(name)) return lock;
  return line_.claim_beside(name, basis, claim);
}

ReleaseResult SqliteStore::release(std::string_view name, const Token& ts) {
  return line_.release_and_tell(name, ts, ReleaseRule::durable).result;
}

// The stamp is older than the commit by what the commit takes. So the ping looks older to a
// contender than it is, never younger; a holder counts from before it asked (R9).
PingRecord SqliteStore::ping(std::string_view process, const PingHealth& health) {
  const auto witness = witness_->statement_of(process);
  const StoreTime time =
      connection_.write_durably(Access::ping, [&] { return write_ping(process, health, witness); });
  return {std::string(process), time, connection_.clock().name, health};
}

StoreTime SqliteStore::write_ping(std::string_view process, const PingHealth& health,
                                  const std::optional<std::string>& witness) {
  SqliteRun run(connection_.statements().ping);
  if (witness) run.bind(7, *witness);
  run.bind(1, process).bind(2, connection_.clock().name);
  int parameter = 3;
  for (const auto& [name, number] : fields_of(health)) run.bind(parameter++, number);
  run.step_to_row();
  const StoreTime time{std::chrono::milliseconds{run.integer(0)}};
  run.finish();
  return time;
}

void SqliteStore::remove_ping(std::string_view process) {
  connection_.write_durably(Access::write, [&] {
    SqliteRun(connection_.statements().remove_ping).bind(1, process).finish();
    return connection_.db().changes();
  });
  witness_->give_up(process);
}

std::int64_t SqliteStore::forget_pings(std::chrono::milliseconds age) {
  return connection_.write_durably(Access::write, [&] {
    SqliteRun run(connection_.statements().forget_pings);
    run.bind(1, age.count())
        .bind(2, connection_.clock().name)
        .bind(3, connection_.clock().unrelated[0])
        .bind(4, connection_.clock().unrelated[1])
        .finish();
    return connection_.db().changes();
  });
}

std::vector<StoredHold> SqliteStore::holds(std::string_view process) {
  std::vector<StoredHold> holds;
  for (const LockRecord& hold : lists_.holds(process)) holds.push_back({hold.name, *hold.ts});
  return holds;
}

}  // namespace

std::shared_ptr<Store> open_sqlite_store(const ConnectionString& connection,
                                         const StoreOptions& options) {
  const InSqlite in;
  if (options.opening == OpeningRule::to_look) check_is_there(connection.path());
  return std::make_shared<SqliteStore>(connection, options);
}

}  // namespace distlock
