#include "stores/sqlite/sqlite_lists.h"

#include <algorithm>
#include <map>
#include <set>

#include "processes.h"
#include "stores/sqlite/sqlite_locks.h"
#include "stores/sqlite/sqlite_rows.h"

namespace distlock {
namespace {

using Access = SqliteConnection::Access;
using Lines = std::map<std::string, SqlitePlaces>;

// By the lock's name. A row whose lock is no text is nobody's place.
Lines stored_lines(const SqliteStatement& statement) {
  Lines lines;
  SqliteRun run(statement);
  while (run.step()) {
    const Document lock = document_in(run.get(), 0, 1);
    if (const auto* name = field_as<std::string>(lock, "lock")) lines[*name].add(run.get(), 1);
  }
  return lines;
}

std::vector<Listed<LockRecord>> locks_of(const SqliteStatement& statement, Lines lines) {
  std::vector<Listed<LockRecord>> locks;
  SqliteRun run(statement);
  while (run.step()) {
    Document lock = document_in(run.get(), 0, sqlite3_column_count(run.get()));
    const auto* name = field_as<std::string>(lock, "_id");
    if (name != nullptr && lines.contains(*name)) lines[*name].put_into(lock);
    locks.push_back(listed(lock, lock_from));
  }
  return locks;
}

}  // namespace

// A command of `distlock run` may have closed its descriptors before its run was killed. By a clock
// with another name nobody tells which processes are older than the hold.
bool has_ended(const SqliteConnection& connection, const SqliteWitness& witnesses,
               const PingRecord& ping, const std::string& witness, const LockRecord& lock) {
  if (!witnesses.has_ended(witness)) return false;
  if (!SqliteWitness::counts_tokens(witness)) return true;
  if (!lock.ts) return false;
  const bool comparable = lock.when && ping.clock == connection.clock().name;
  const auto given =
      comparable ? connection.since_boot_at(*lock.when) : std::chrono::milliseconds{};
  return !may_be_had(to_hex(*lock.ts), given);
}

// The statements on witnesses are those of the pings, in their order.
struct SqliteLists::Read {
  Listing listing;
  std::vector<std::string> witnesses;

  void pings_of(const SqliteStatement& statement) {
    SqliteRun run(statement);
    while (run.step()) {
      const Document ping = document_in(run.get(), 0, sqlite3_column_count(run.get()));
      witnesses.push_back(witness_stated_in(ping));
      listing.pings.push_back(listed(ping, ping_from));
    }
  }
};

Listing SqliteLists::read(const char* operation, const std::function<void(Read&)>& rows) {
  const auto give_up_at = connection_.end_of_call();
  Read all;
  {
    const SqliteCall call = connection_.begin_call(Access::read, give_up_at);
    SqliteTransaction one_view(connection_.db(), operation, "BEGIN");
    rows(all);
    all.listing.now = connection_.now();
  }
  return judged(std::move(all), give_up_at);
}

Listing SqliteLists::list() {
  const SqliteStatements& statements = connection_.statements();
  return read("list", [&](Read& into) {
    into.listing.locks = locks_of(statements.locks, stored_lines(statements.places));
    into.pings_of(statements.pings);
  });
}

Listing SqliteLists::list_waits(const std::vector<std::string>& names) {
  const SqliteStatements& statements = connection_.statements();
  return read("look for deadlocks", [&](Read& into) {
    into.listing.locks = locks_of(statements.locks_of_waits, stored_lines(statements.places));
    add_named(into.listing.locks, names);
    into.pings_of(statements.pings_of_waits);
  });
}

void SqliteLists::add_named(std::vector<Listed<LockRecord>>& locks,
                            const std::vector<std::string>& names) const {
  std::set<std::string, std::less<>> missing(names.begin(), names.end());
  for (const auto& lock : locks) missing.erase(lock.id);
  for (const std::string& name : missing) {
    if (const auto row = row_of(connection_, name)) locks.push_back(listed(row->lock, lock_from));
  }
}

// After the call: others need not wait for the look at this machine's processes.
Listing SqliteLists::judged(Read read, std::chrono::milliseconds give_up_at) {
  for (std::size_t i = 0; i < read.witnesses.size(); ++i) {
    auto& ping = read.listing.pings[i].record;
    const std::string& witness = read.witnesses[i];
    if (!ping || !witness_.has_ended(witness)) continue;
    const auto holds = this->holds(ping->process, give_up_at);
    ping->ended = std::all_of(holds.begin(), holds.end(), [&](const LockRecord& hold) {
      return has_ended(connection_, witness_, *ping, witness, hold);
    });
    ping->was_run = ping->ended && SqliteWitness::counts_tokens(witness);
  }
  return std::move(read.listing);
}

std::vector<LockRecord> SqliteLists::holds(std::string_view process) {
  return holds(process, connection_.end_of_call());
}

std::vector<LockRecord> SqliteLists::holds(std::string_view process,
                                           std::chrono::milliseconds give_up_at) {
  const SqliteCall call = connection_.begin_call(Access::read, give_up_at);
  std::vector<LockRecord> holds;
  SqliteRun run(connection_.statements().holds);
  run.bind(1, process);
  while (run.step()) {
    const Document hold = document_in(run.get(), 0, 3);
    const auto* name = field_as<std::string>(hold, "_id");
    const auto* ts = field_as<Token>(hold, "ts");
    if (name == nullptr || ts == nullptr) continue;
    LockRecord& lock = holds.emplace_back(LockRecord{.name = *name});
    lock.ts = *ts;
    if (const auto* when = field_as<StoreTime>(hold, "when")) lock.when = *when;
  }
  return holds;
}

}  // namespace distlock
