#pragma once

#include <string>
#include <utility>

struct sqlite3;

// In a child of fork() SQLite still believes that it has its parent's locks of files. The kernel
// gives them to no child, so the child would work without locks: others could remove the log that
// it uses. And a mutex of SQLite may belong to a thread that does not exist in the child.
namespace distlock {

/// While it lives, this thread may be in the middle of a call of SQLite. The first of a thread
/// waits for a fork that is under way, for a second at most. Destroyed by the thread that made it.
class InSqlite {
 public:
  InSqlite();
  ~InSqlite();
  InSqlite(InSqlite&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}
  InSqlite& operator=(InSqlite&&) = delete;

 private:
  bool counts_ = true;
};

/// Before a connection to `path` is opened, inside. In a child of fork(), has SQLite forget its
/// parent's connections, which nobody uses there. It closes no descriptor. Errors: `forked` if
/// another thread was in the middle of a call of SQLite at the fork.
void forget_connections_of_parent(const std::string& path);

/// Both inside.
void note_opened(sqlite3* db);
void note_closing(sqlite3* db) noexcept;

}  // namespace distlock
