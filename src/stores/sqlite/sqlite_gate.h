#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "stores/sqlite/sqlite_page.h"

namespace distlock {

// THE GATE
//
// All writers of one SQLite file need its one write lock, whatever locks of ours they want. SQLite
// has no line for it: the writer that looks at the right moment gets it. The gate is a line that
// the kernel keeps. Its file lies beside the database, and the writer with an flock on it writes. A
// writer that finds it taken sleeps on a word of it, a futex. The writer that leaves wakes it.
//
// The flock alone says who is in, and ends with its holder. The word is a hint: lost or forged
// wake-ups cost time, 10 ms at most. The whole gate is a courtesy: SQLite's lock alone keeps
// writers apart. So some writers write without it: those that cannot use it, find something else in
// its place, or have waited at it for half of a call's limit.
//
// There is a gate once two writers have met, until the last who has the database open closes it.

/// The gate of one database, for one process.
///
/// Threads: calls must not overlap.
class SqliteGate {
 public:
  /// `database` is the file's path.
  explicit SqliteGate(const std::string& database);

  /// Waits to be let in, until since_boot() is `give_up_at`. Gives whether it is in; if not, it may
  /// write all the same.
  bool enter(std::chrono::milliseconds give_up_at);
  void leave() noexcept;

  /// Makes the gate's file, if there is none, for whoever may use the database.
  void make() const noexcept { page_.make(); }

 private:
  SqlitePage page_;
  // When this writer left, it woke another one, which comes first.
  bool others_first_ = false;
  std::uint32_t left_at_ = 0;  // The bell's word until somebody else rings.
  int in_a_row_ = 0;
  // Set after a wait that was too long: until then the gate is passed by.
  std::optional<std::chrono::milliseconds> ignored_until_;
};

}  // namespace distlock
