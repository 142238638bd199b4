#pragma once

#include <string>
#include <utility>

struct sqlite3;

// SQLite knows no forks. By its memory a child has the locks of its parent's connections, which the
// kernel gives to no child. So it would take none itself: the log would be removed under it, or be
// another one than everybody's. And a mutex of SQLite's may be held by a thread that the child has
// not.
namespace distlock {

/// While it lives, this thread may be in the middle of a call of SQLite.
class InSqlite {
 public:
  InSqlite();
  ~InSqlite();
  InSqlite(InSqlite&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}
  InSqlite& operator=(InSqlite&&) = delete;

 private:
  bool counts_ = true;
};

/// Before a connection to `path` is opened. In a child of fork(), has SQLite forget its parent's
/// connections, which nobody uses there. Errors: `forked` if another thread was in the middle of a
/// call of SQLite at the fork.
void forget_connections_of_parent(const std::string& path);

void note_opened(sqlite3* db);
void note_closing(sqlite3* db) noexcept;

}  // namespace distlock
