#pragma once

#include <functional>
#include <string>
#include <vector>

#include "distlock/store.h"
#include "stores/sqlite/sqlite_connection.h"
#include "stores/sqlite/sqlite_witness.h"

namespace distlock {

/// Whether the holder of `lock` has ended, and all that may act for it (R23). `witness` is the
/// statement of its `ping`.
bool has_ended(const SqliteConnection& connection, const SqliteWitness& witnesses,
               const PingRecord& ping, const std::string& witness, const LockRecord& lock);

/// Reads of many rows, for people and for looks at who waits for whom. Threads: as SqliteStore.
class SqliteLists {
 public:
  SqliteLists(SqliteConnection& connection, const SqliteWitness& witness)
      : connection_(connection), witness_(witness) {}

  /// As Store::holds(), and when they were taken.
  std::vector<LockRecord> holds(std::string_view process);
  /// As Store::list().
  Listing list();
  /// As Line::list_waits().
  Listing list_waits(const std::vector<std::string>& names);

 private:
  struct Read;
  // In one view of the file.
  Listing read(const char* operation, const std::function<void(Read&)>& rows);
  void add_named(std::vector<Listed<LockRecord>>& locks,
                 const std::vector<std::string>& names) const;
  Listing judged(Read read, std::chrono::milliseconds give_up_at);
  std::vector<LockRecord> holds(std::string_view process, std::chrono::milliseconds give_up_at);

  SqliteConnection& connection_;
  const SqliteWitness& witness_;
};

}  // namespace distlock
