#include "stores/sqlite/sqlite_errors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "failure.h"
#include "text.h"

namespace distlock {
namespace {

constexpr int kPrimaryCode = 0xFF;

// Names the file that another user has and this one may not use, if that is why.
std::string withheld(const std::string& database) {
  for (const char* const end : {"", "-wal", "-shm"}) {
    const std::string path = database + end;
    if (faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0 || errno == ENOENT)
      continue;
    return "; this user may not read and write " + in_quotes(path) +
           ": users share a file in a folder of their group with mode 2770 (docs/security.md)";
  }
  return "";
}

std::string of_system(int error) { return error == 0 ? "" : ", " + system_failure(error); }

// Of the last commit that was refused on this thread.
thread_local int error_of_look = 0;

// SQLite's own finding, or ours before a commit.
bool is_of_look(int code) {
  return code == SQLITE_READONLY_DBMOVED || code == SQLITE_CONSTRAINT_COMMITHOOK;
}

int error_of_look_in(int code) { return code == SQLITE_CONSTRAINT_COMMITHOOK ? error_of_look : 0; }

}  // namespace

void note_refused_commit(int system_error) noexcept { error_of_look = system_error; }

Errc errc_of_look(int system_error) {
  if (system_error == 0) return Errc::store_replaced;
  const bool denied = system_error == EACCES || system_error == EPERM;
  return denied ? Errc::permission_denied : Errc::not_applied;
}

std::string problem_of_look(int system_error) {
  if (system_error == 0) {
    return "the file was replaced or removed while it was open; nothing was changed, open it anew";
  }
  return "the file, or one beside it, cannot be looked at, " + system_failure(system_error) +
         "; nothing was changed";
}

std::string problem_of(sqlite3* db, const std::string& database) {
  const int code = sqlite3_extended_errcode(db);
  if (is_of_look(code)) return problem_of_look(error_of_look_in(code));
  switch (code & kPrimaryCode) {
    case SQLITE_CANTOPEN:
      return "the file, or one beside it, cannot be opened" + of_system(sqlite3_system_errno(db)) +
             withheld(database);
    case SQLITE_READONLY:
      return "the file or its folder cannot be written; make both writable" + withheld(database);
    case SQLITE_NOTADB:
      return "it is no SQLite database: give another path, or move the file away";
    case SQLITE_CORRUPT:
      return "the file is damaged: restore or remove it";
    case SQLITE_FULL:
      return "the disk is full; nothing was changed: make room";
    case SQLITE_IOERR:
      return "the disk cannot be read or written" + of_system(sqlite3_system_errno(db)) +
             "; look at the disk, and for room on it";
    case SQLITE_BUSY:
      return "another process was writing all the time; try again";
    default:
      return escaped(sqlite3_errmsg(db));
  }
}

Errc errc_of(int code, Effect effect, int system_error) {
  if (is_of_look(code)) return errc_of_look(error_of_look_in(code));
  // RAISE(FAIL) keeps what was written before it, and looks like the others.
  if (code == SQLITE_CONSTRAINT_TRIGGER && effect == Effect::writes) return Errc::outcome_unknown;
  switch (code & kPrimaryCode) {
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return Errc::permission_denied;
    case SQLITE_CANTOPEN: {
      const bool denied = system_error == EACCES || system_error == EPERM || system_error == EROFS;
      return denied ? Errc::permission_denied : Errc::not_applied;
    }
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return Errc::bad_record;
    // Before or instead of the commit: SQLite has rolled the statement back. A full disk too, for
    // the commit is the last thing that is written.
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_CONSTRAINT:
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
    case SQLITE_PROTOCOL:
      return Errc::not_applied;
    // An I/O error may have struck after the commit reached the file: a later recovery of the
    // write-ahead log can find it there.
    default:
      return effect == Effect::reads ? Errc::not_applied : Errc::outcome_unknown;
  }
}

void fail(sqlite3* db, const std::string& operation, Effect effect) {
  const char* name = sqlite3_db_filename(db, "main");
  const std::string file = name != nullptr ? name : "";
  throw Error(errc_of(sqlite3_extended_errcode(db), effect, sqlite3_system_errno(db)),
              operation + " in " + in_quotes(file) + ": " + problem_of(db, file));
}

void refuse_lost_write(sqlite3* db, const std::string& operation) {
  throw Error(Errc::not_applied,
              operation + " in " + in_quotes(sqlite3_db_filename(db, "main")) +
                  ": the write has no effect, as if a trigger in the file took it away; nothing "
                  "was changed, remove the trigger");
}

}  // namespace distlock
