#include "stores/sqlite/sqlite_connection.h"

#include <utility>

#include "distlock/error.h"
#include "stores/sqlite/sqlite_errors.h"
#include "stores/sqlite/sqlite_file.h"
#include "stores/sqlite/sqlite_schema.h"
#include "text.h"

namespace distlock {

SqliteCall::SqliteCall(SqliteTurns::Turn turn, SqliteDatabase& db, SqliteGate* gate)
    : turn_(std::move(turn)), db_(db), gate_(gate) {}

SqliteCall::SqliteCall(SqliteCall&& other) noexcept
    : turn_(std::move(other.turn_)),
      in_(std::move(other.in_)),
      db_(other.db_),
      gate_(std::exchange(other.gate_, nullptr)) {}

SqliteCall::~SqliteCall() {
  if (gate_ == nullptr) return;
  gate_->leave();
  if (db_.has_waited()) gate_->make();
}

SqliteConnection::SqliteConnection(const ConnectionString& connection, const StoreOptions& options)
    : call_limit_(options.call_limit),
      durable_(connection.durable()),
      db_(make_private_file(connection.path()), call_limit_),
      clock_(boot_clock()) {
  db_.wait_until(since_boot() + call_limit_);
  db_.execute("open", Effect::reads, "PRAGMA synchronous = full");
  prepare_schema(db_);
  epoch_ = epoch_of(db_, clock_.name);
  // From here on SQLite itself syncs for checkpoints alone. It does so with `synchronous=off`, too:
  // the log, which then begins anew, has what other processes have confirmed.
  db_.execute("open", Effect::reads, "PRAGMA synchronous = normal");
  db_.watch_descriptors();
  if (durable_) syncs_.emplace(db_.file());
  db_.add_function("store_now", store_now_);
  statements_.emplace(db_);
  // Without syncs a write is so short that the gate costs more than it gives.
  if (durable_) gate_.emplace(db_.file());
  db_.look_before_commits();
  begin_call(Access::read);
}

std::optional<std::uint64_t> SqliteConnection::commit_since(std::int64_t changes,
                                                            std::string_view lock) {
  if (!syncs_ || db_.all_changes() == changes) return std::nullopt;
  const std::uint64_t number = syncs_->committed();
  if (!lock.empty()) last_claim(lock) = number;
  return number;
}

std::atomic<std::uint64_t>& SqliteConnection::last_claim(std::string_view lock) {
  return last_claims_.at(std::hash<std::string_view>{}(lock) % last_claims_.size());
}

void SqliteConnection::cover_claims_of(std::string_view lock,
                                       std::chrono::milliseconds give_up_at) {
  if (syncs_) cover_seen(last_claim(lock), give_up_at);
}

// The write that made this refusal right may not be on the disk yet.
void SqliteConnection::cover_refusal(std::chrono::milliseconds give_up_at) {
  if (!syncs_) return;
  if (syncs_->in_doubt()) refuse_in_doubt();
  cover_owed(give_up_at);
}

// A look could show a hold whose claim the disk never took, and confirm it so. A quick write
// promises nothing of the disk, and a write waits for it afterwards.
void SqliteConnection::cover_owed(std::chrono::milliseconds give_up_at) {
  if (!syncs_ || syncs_->in_doubt()) return;
  if (const auto owed = syncs_->owed()) cover_seen(*owed, give_up_at);
}

void SqliteConnection::cover_seen(std::uint64_t commit, std::chrono::milliseconds give_up_at) {
  try {
    syncs_->cover(commit, give_up_at);
  } catch (const Error&) {
    refuse_in_doubt();
  }
}

void SqliteConnection::settle_doubt(Access access) {
  if (!syncs_ || !syncs_->in_doubt()) return;
  if (db_.empty_log()) return syncs_->settle();
  if (access == Access::quick_write) return;
  refuse_in_doubt();
}

void SqliteConnection::refuse_in_doubt() const {
  throw Error(Errc::not_applied, in_quotes(db_.path()) +
                                     ": what was written before may not be on the disk; nothing "
                                     "was changed, look at the disk, and for room on it");
}

void SqliteConnection::check_descriptors() const {
  if (db_.has_its_descriptors()) return;
  throw Error(Errc::store_replaced,
              in_quotes(db_.path()) +
                  ": this program has closed all its descriptors, those of the open file included; "
                  "destroy the store and its locks, and open it anew");
}

// An earlier call may have had no memory for its end.
void SqliteConnection::check_no_transaction() const {
  if (db_.roll_back()) return;
  throw Error(Errc::not_applied, in_quotes(db_.path()) +
                                     ": an earlier call could not be ended, for want of memory; "
                                     "nothing was changed");
}

SqliteCall SqliteConnection::begin_call(Access access, std::chrono::milliseconds give_up_at) {
  check_descriptors();
  if (access == Access::read) cover_owed(give_up_at);
  SqliteTurns::Turn turn =
      access == Access::ping ? turns_.enter_first(give_up_at) : turns_.enter(give_up_at);
  if (!turn.owns_lock()) {
    throw Error(Errc::not_applied, in_quotes(db_.path()) +
                                       ": other threads of this process were using it all the "
                                       "time; nothing was changed");
  }
  check_descriptors();
  check_no_transaction();
  db_.wait_until(give_up_at);
  SqliteGate* gate = access != Access::read && gate_ ? &*gate_ : nullptr;
  // The other half of the time is for programs that write without the gate.
  if (gate != nullptr) gate->enter(since_boot() + (give_up_at - since_boot()) / 2);
  SqliteCall call(std::move(turn), db_, gate);
  const SqliteDatabase::Look look = db_.look_at_files();
  if (look.replaced || look.error != 0) {
    throw Error(errc_of_look(look.error),
                in_quotes(db_.path()) + ": " + problem_of_look(look.error));
  }
  settle_doubt(access);
  forget_write_time();
  return call;
}

}  // namespace distlock
