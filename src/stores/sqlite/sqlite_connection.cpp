#include "stores/sqlite/sqlite_connection.h"

#include <utility>

#include "distlock/error.h"
#include "stores/sqlite/sqlite_file.h"
#include "stores/sqlite/sqlite_schema.h"
#include "text.h"

namespace distlock {

SqliteCall::SqliteCall(SqliteTurns::Turn turn, SqliteDatabase& db, SqliteGate* gate)
    : turn_(std::move(turn)), db_(db), gate_(gate) {}

SqliteCall::SqliteCall(SqliteCall&& other) noexcept
    : turn_(std::move(other.turn_)), db_(other.db_), gate_(std::exchange(other.gate_, nullptr)) {}

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
  if (!durable_) db_.execute("open", Effect::reads, "PRAGMA synchronous = off");
  if (durable_) set_syncs(true);
  prepare_schema(db_);
  epoch_ = epoch_of(db_, clock_.name);
  db_.add_function("store_now", store_now_);
  statements_.emplace(db_);
  // Without syncs a write is so short that a line costs more than it gives.
  if (durable_) gate_.emplace(db_.file());
  begin_call(Access::read);
}

// The level is that of the next commit. It is said before each, for an error may come before it
// could be taken back.
void SqliteConnection::set_syncs(bool full) {
  if (!durable_ || syncs_ == full) return;
  db_.execute("open", Effect::reads,
              full ? "PRAGMA synchronous = full" : "PRAGMA synchronous = normal");
  syncs_ = full;
}

SqliteCall SqliteConnection::begin_call(Access access) {
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
  SqliteCall call(std::move(turn), db_, gate);
  if (db_.file_was_replaced()) {
    throw Error(Errc::not_applied, distlock::quoted(db_.path()) +
                                       ": the file was replaced or removed while it was open; "
                                       "nothing was changed, open it anew");
  }
  if (access != Access::read) set_syncs(access != Access::quick_write);
  forget_write_time();
  return call;
}

}  // namespace distlock
