#include "stores/sqlite/sqlite_store.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "distlock/error.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_database.h"
#include "stores/sqlite/sqlite_file.h"
#include "stores/sqlite/sqlite_gate.h"
#include "stores/sqlite/sqlite_rows.h"
#include "stores/sqlite/sqlite_schema.h"
#include "stores/sqlite/sqlite_statements.h"
#include "stores/sqlite/sqlite_turns.h"
#include "text.h"

namespace distlock {
namespace {

// What a call does to the file, and how it waits for its turn.
enum class Access { read, write, ping };

// One call: for as long as it lasts it is alone on the connection, and, if it writes, in the gate.
class Call {
 public:
  Call(SqliteTurns::Turn turn, SqliteDatabase& db, SqliteGate* gate)
      : turn_(std::move(turn)), db_(db), gate_(gate) {}
  ~Call() {
    if (gate_ == nullptr) return;
    gate_->leave();
    if (db_.has_waited()) gate_->make();
  }
  Call(Call&& other) noexcept
      : turn_(std::move(other.turn_)), db_(other.db_), gate_(std::exchange(other.gate_, nullptr)) {}
  Call& operator=(Call&&) = delete;

 private:
  SqliteTurns::Turn turn_;
  SqliteDatabase& db_;
  SqliteGate* gate_;
};

class SqliteStore : public Store {
 public:
  SqliteStore(const ConnectionString& connection, const StoreOptions& options)
      : call_limit_(options.call_limit),
        db_(make_private_file(connection.path()), call_limit_),
        clock_(boot_clock()) {
    if (!connection.durable()) db_.execute("open", Effect::reads, "PRAGMA synchronous = off");
    if (connection.durable()) db_.execute("open", Effect::reads, "PRAGMA synchronous = full");
    prepare_schema(db_);
    epoch_ = epoch_of(db_, clock_.name);
    db_.add_function("store_now", store_now_);
    statements_.emplace(db_);
    // Without syncs a write is so short that a line costs more than it gives.
    if (connection.durable()) gate_.emplace(db_.file());
    begin_call(Access::read);
  }

  std::chrono::milliseconds call_limit() const override { return call_limit_; }

  Inspection inspect(std::string_view name, Freshness) override;
  std::optional<Carried> carried(std::string_view name) override;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override;
  ReleaseResult release(std::string_view name, const Token& ts) override;
  PingRecord ping(std::string_view process) override { return stamp(process, nullptr); }
  PingRecord ping_and_report(std::string_view process, const PingHealth& health) override {
    return stamp(process, &health);
  }
  void remove_ping(std::string_view process) override;
  std::int64_t forget_pings(std::chrono::milliseconds age) override;
  std::vector<StoredHold> holds(std::string_view process) override;
  Listing list() override;

 private:
  PingRecord stamp(std::string_view process, const PingHealth* health);
  Call begin_call(Access access);
  StoreNow now() const {
    return {StoreTime{epoch_ + since_boot()}, clock_.name, true, clock_.boot};
  }
  const SqliteStatement& statement_for(const ClaimBasis& basis) const;
  std::optional<ReleaseResult> release_without_effect(std::string_view name, const Token& ts);

  const std::chrono::milliseconds call_limit_;
  SqliteTurns turns_;
  // One time for the whole of a statement: the first that it asks for.
  std::optional<std::int64_t> statement_time_;
  std::function<std::int64_t()> store_now_ = [this] {
    if (!statement_time_) statement_time_ = now().time.time_since_epoch().count();
    return *statement_time_;
  };
  std::optional<SqliteGate> gate_;  // Outlives the connection.
  SqliteDatabase db_;
  BootClock clock_;
  std::chrono::milliseconds epoch_{};
  std::optional<SqliteStatements> statements_;
};

// Every call begins here: alone on the connection, and on the file that others see. All its waits
// end with the call's limit.
Call SqliteStore::begin_call(Access access) {
  const auto give_up_at = since_boot() + call_limit_;
  SqliteTurns::Turn turn =
      access == Access::ping ? turns_.enter_first(give_up_at) : turns_.enter(give_up_at);
  if (!turn.owns_lock()) {
    throw Error(Errc::not_applied, distlock::quoted(db_.path()) +
                                       ": other threads of this process were using it all the "
                                       "time; nothing was changed");
  }
  db_.wait_until(give_up_at);
  SqliteGate* gate = access != Access::read && gate_ ? &*gate_ : nullptr;
  // The other half is for those who write without the gate.
  if (gate != nullptr) gate->enter(since_boot() + (give_up_at - since_boot()) / 2);
  Call call(std::move(turn), db_, gate);
  if (db_.file_was_replaced()) {
    throw Error(Errc::not_applied, distlock::quoted(db_.path()) +
                                       ": the file was replaced or removed while it was open; "
                                       "nothing was changed, open it anew");
  }
  statement_time_.reset();
  return call;
}

// The time is read before the row. A process that is stopped between the two then finds the ping
// too young; the other way round it would find a living holder's too old and take over from it.
// A ping that was stamped in between is later than this time; the row's view is as late as that.
Inspection SqliteStore::inspect(std::string_view name, Freshness) {
  const Call call = begin_call(Access::read);
  Inspection inspection{.lock = {}, .ping = {}, .now = now(), .fresh = true};
  SqliteRun run(statements_->inspect);
  if (!run.bind(1, name).step()) return inspection;
  inspection.lock = lock_from(document_in(run.get(), 0, kInspectLockColumns));
  const Document ping = document_in(run.get(), kInspectLockColumns, kInspectColumns);
  if (!inspection.lock->taken() || ping.empty()) return inspection;
  inspection.ping = ping_from(ping);
  if (inspection.ping->clock == clock_.name && inspection.ping->ping > inspection.now->time) {
    inspection.now->time = std::min(inspection.ping->ping, now().time);
  }
  return inspection;
}

std::optional<Carried> SqliteStore::carried(std::string_view name) {
  const Call call = begin_call(Access::read);
  SqliteRun run(statements_->inspect);
  if (!run.bind(1, name).step()) return std::nullopt;
  return carried_in(document_in(run.get(), 0, kInspectLockColumns));
}

const SqliteStatement& SqliteStore::statement_for(const ClaimBasis& basis) const {
  if (std::holds_alternative<FromAbsent>(basis)) return statements_->claim_absent;
  if (std::holds_alternative<FromFree>(basis)) return statements_->claim_free;
  return statements_->claim_hold;
}

// The `ts` that the document must carry, or nothing.
std::string ts_of(const ClaimBasis& basis) {
  if (const auto* hold = std::get_if<FromHold>(&basis)) return to_hex(hold->ts);
  const auto* free = std::get_if<FromFree>(&basis);
  return free != nullptr && free->ts ? to_hex(*free->ts) : "";
}

std::optional<LockRecord> SqliteStore::claim(std::string_view name, const ClaimBasis& basis,
                                             const Claim& claim) {
  if (claim.cutoff.clock != clock_.name) return std::nullopt;
  const Call call = begin_call(Access::write);
  const std::string ts = to_hex(claim.ts);
  const std::string from = ts_of(basis);
  SqliteRun run(statement_for(basis));
  run.bind(1, name).bind(2, claim.process).bind(3, claim.who).bind(4, claim.why).bind(5, ts);
  run.bind(6, claim.takeover_after.count()).bind(7, claim.cutoff.time.time_since_epoch().count());
  if (!from.empty()) run.bind(8, from);
  const auto* hold = std::get_if<FromHold>(&basis);
  if (hold != nullptr && hold->when) run.bind(9, hold->when->time_since_epoch().count());
  if (!run.step()) return std::nullopt;
  LockRecord lock{.name = std::string(name),
                  .state = LockState::taken,
                  .process = claim.process,
                  .who = claim.who,
                  .why = claim.why,
                  .when = StoreTime{std::chrono::milliseconds{run.integer(0)}},
                  .ts = claim.ts,
                  .fence = run.integer(1),
                  .takeover_after = claim.takeover_after};
  run.finish();
  check_written_fence(name, lock.fence);
  return lock;
}

ReleaseResult SqliteStore::release(std::string_view name, const Token& ts) {
  const Call call = begin_call(Access::write);
  const std::string hex = to_hex(ts);
  while (true) {
    SqliteRun run(statements_->release);
    run.bind(1, name).bind(2, hex).finish();
    if (db_.changes() == 1) return ReleaseResult::freed;
    if (const auto result = release_without_effect(name, ts)) return *result;
    // Between the two, a delayed claim of ours has come through.
  }
}

// Why nothing was freed; or nothing, if now there is something to free.
std::optional<ReleaseResult> SqliteStore::release_without_effect(std::string_view name,
                                                                 const Token& ts) {
  SqliteRun run(statements_->inspect);
  if (!run.bind(1, name).step()) return ReleaseResult::not_ours;
  const Document lock = document_in(run.get(), 0, kInspectLockColumns);
  const auto carried = std::find(lock.begin(), lock.end(), Document::value_type{"ts", ts});
  if (carried == lock.end()) return ReleaseResult::not_ours;
  const auto state = state_in(lock);
  if (!state) static_cast<void>(lock_from(lock));  // throws: nothing was changed
  if (state == LockState::free) return ReleaseResult::already_free;
  return std::nullopt;
}

// The stamp is older than the commit by what the commit takes. So the ping looks older to a
// contender than it is, never younger; a holder counts from before it asked (R9).
PingRecord SqliteStore::stamp(std::string_view process, const PingHealth* health) {
  const Call call = begin_call(Access::ping);
  SqliteRun run(statements_->ping);
  run.bind(1, process).bind(2, clock_.name);
  if (health != nullptr) {
    int parameter = 3;
    for (const auto& [name, number] : fields_of(*health)) run.bind(parameter++, number);
  }
  run.step();
  const StoreTime time{std::chrono::milliseconds{run.integer(0)}};
  run.finish();
  return {std::string(process), time, clock_.name};
}

void SqliteStore::remove_ping(std::string_view process) {
  const Call call = begin_call(Access::write);
  SqliteRun(statements_->remove_ping).bind(1, process).finish();
}

std::int64_t SqliteStore::forget_pings(std::chrono::milliseconds age) {
  const Call call = begin_call(Access::write);
  SqliteRun run(statements_->forget_pings);
  run.bind(1, age.count()).bind(2, clock_.name).bind(3, clock_.boot).finish();
  return db_.changes();
}

std::vector<StoredHold> SqliteStore::holds(std::string_view process) {
  const Call call = begin_call(Access::read);
  std::vector<StoredHold> holds;
  SqliteRun run(statements_->holds);
  run.bind(1, process);
  while (run.step()) {
    const Document hold = document_in(run.get(), 0, 2);
    if (hold.size() != 2) continue;
    const auto* name = std::get_if<std::string>(&hold[0].second);
    const auto* ts = std::get_if<Token>(&hold[1].second);
    if (name != nullptr && ts != nullptr) holds.push_back({*name, *ts});
  }
  return holds;
}

template <class Record>
std::vector<Listed<Record>> listed(const SqliteStatement& statement,
                                   Record (*judge)(const Document&)) {
  std::vector<Listed<Record>> all;
  SqliteRun run(statement);
  while (run.step()) {
    all.push_back(listed(document_in(run.get(), 0, sqlite3_column_count(run.get())), judge));
  }
  return all;
}

Listing SqliteStore::list() {
  const Call call = begin_call(Access::read);
  SqliteTransaction one_view(db_, "list", "BEGIN");
  Listing listing;
  listing.locks = listed(statements_->locks, lock_from);
  listing.pings = listed(statements_->pings, ping_from);
  listing.now = now();
  return listing;
}

}  // namespace

std::shared_ptr<Store> open_sqlite_store(const ConnectionString& connection,
                                         const StoreOptions& options) {
  return std::make_shared<SqliteStore>(connection, options);
}

}  // namespace distlock
