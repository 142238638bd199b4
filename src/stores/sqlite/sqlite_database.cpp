#include "stores/sqlite/sqlite_database.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <boost/thread/lock_guard.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include "fork_guard.h"
#include "stores/nap.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_errors.h"
#include "stores/sqlite/sqlite_file.h"
#include "stores/sqlite/sqlite_forks.h"
#include "text.h"

namespace distlock {
namespace {

struct Closings {
  boost::mutex mutex;
  std::map<std::string, std::weak_ptr<boost::mutex>> of_files;
};
PerProcess<Closings> closings;

// Made before there is something to close, which must not want memory.
std::shared_ptr<boost::mutex> closing_of(const std::string& path) {
  std::error_code unknown;
  const std::string file = std::filesystem::weakly_canonical(path, unknown).string();
  Closings& all = closings.get();
  const boost::lock_guard<boost::mutex> lock(all.mutex);
  std::erase_if(all.of_files, [](const auto& one) { return one.second.expired(); });
  auto& known = all.of_files[file];
  auto closing = known.lock();
  if (!closing) known = closing = std::make_shared<boost::mutex>();
  return closing;
}

bool is_gone(int error) { return error == ENOENT || error == ENOTDIR; }

void call_function(sqlite3_context* context, int, sqlite3_value**) {
  auto& function = *static_cast<std::function<std::int64_t()>*>(sqlite3_user_data(context));
  sqlite3_result_int64(context, function());
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  const InSqlite in;
  sqlite3_finalize(statement);
}

void SqliteDatabase::Close::operator()(sqlite3* db) const noexcept {
  const boost::lock_guard<boost::mutex> lock(*one_at_a_time);
  const InSqlite in;
  if (own && !own->is_there()) return close_without_files(db);
  note_closing(db);
  sqlite3_close_v2(db);
}

SqliteStatement::SqliteStatement(std::string operation, Effect effect, sqlite3_stmt* owned)
    : operation_(std::move(operation)), effect_(effect), statement_(owned) {}

SqliteRun::~SqliteRun() {
  sqlite3_reset(get());
  sqlite3_clear_bindings(get());
}

SqliteRun& SqliteRun::bind(int index, std::string_view text) {
  // An empty view may point nowhere, which SQLite would take for NULL.
  const char* data = text.empty() ? "" : text.data();
  const auto size = static_cast<sqlite3_uint64>(text.size());
  if (sqlite3_bind_text64(get(), index, data, size, SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK) {
    fail(sqlite3_db_handle(get()), statement_.operation(), Effect::reads);
  }
  return *this;
}

SqliteRun& SqliteRun::bind(int index, std::int64_t number) {
  if (sqlite3_bind_int64(get(), index, number) != SQLITE_OK) {
    fail(sqlite3_db_handle(get()), statement_.operation(), Effect::reads);
  }
  return *this;
}

bool SqliteRun::step() {
  const int code = sqlite3_step(get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  fail(sqlite3_db_handle(get()), statement_.operation(), statement_.effect());
}

void SqliteRun::finish() {
  while (step()) {
  }
}

void SqliteRun::step_to_row() {
  if (!step()) refuse_lost_write(sqlite3_db_handle(get()), statement_.operation());
}

SqliteDatabase::SqliteDatabase(const std::string& path, std::chrono::milliseconds busy_limit)
    : path_(path), busy_limit_(busy_limit), db_(nullptr, Close{closing_of(path)}) {
  const InSqlite in;
  forget_connections_of_parent(path);
  sqlite3* db = nullptr;
  // A program that shares caches would have its connections refuse each other at once.
  constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE |
                         SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path.c_str(), &db, kFlags, nullptr);
  db_.reset(db);
  if (db == nullptr) throw Error(Errc::not_applied, "open " + in_quotes(path) + ": out of memory");
  note_opened(db);
  if (code != SQLITE_OK) {
    throw Error(errc_of(code, Effect::reads, sqlite3_system_errno(db)),
                "open " + in_quotes(path) + ": " + problem_of(db, path));
  }
  // SQLite falls back to reading where it may not write.
  if (sqlite3_db_readonly(db, "main") != 0) {
    throw Error(Errc::permission_denied,
                "open " + in_quotes(path) + ": the file is read-only; make it writable");
  }
  sqlite3_busy_handler(db, wait_for_writer, this);
  log_ = {WatchedFile{file() + "-wal", {}}, WatchedFile{file() + "-shm", {}}};
  watch_links();
}

// Which file was opened, whatever the links are by now. Without links no folder counts that the
// name only goes through and back, as `x` in x/../locks.db.
void SqliteDatabase::watch_links() {
  WatchedFile opened{file(), {}};
  if (std::filesystem::path(path_).lexically_normal() == opened.path) return;
  if (look_at(opened).error == 0) linked_ = {path_, opened.id};
}

// SQLite would write its log over what others have committed since, and remove theirs by its name.
SqliteDatabase::~SqliteDatabase() {
  if (!has_its_descriptors()) return;
  const InSqlite in;
  const Look look = look_at_files();
  if (look.replaced || look.error != 0)
    sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

std::chrono::milliseconds SqliteDatabase::time_to_wait() const {
  if (!give_up_at_) return busy_limit_;
  return std::max(*give_up_at_ - since_boot(), std::chrono::milliseconds{0});
}

// SQLite's own handler sleeps ever longer, up to 100 ms, and counts what it meant to sleep. A
// writer that has waited for long is passed by all that come later, and a call takes longer than it
// may.
int SqliteDatabase::wait_for_writer(void* database, int waits) {
  auto& db = *static_cast<SqliteDatabase*>(database);
  const auto now = since_boot();
  db.waited_ = true;
  db.waited_since_look_ = true;
  if (waits == 0) db.wait_ends_ = db.give_up_at_.value_or(now + db.busy_limit_);
  if (now >= db.wait_ends_) return 0;
  nap(std::chrono::microseconds(std::uniform_int_distribution(200, 1000)(db.random_)));
  return 1;
}

SqliteStatement SqliteDatabase::prepare(std::string operation, Effect effect,
                                        std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    fail(db_.get(), operation, Effect::reads);
  }
  return {std::move(operation), effect, statement};
}

void SqliteDatabase::execute(const std::string& operation, Effect effect, const char* sql) const {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail(db_.get(), operation, effect);
  }
}

std::int64_t SqliteDatabase::integer(const std::string& operation, const char* sql) const {
  const SqliteStatement statement = prepare(operation, Effect::reads, sql);
  SqliteRun run(statement);
  return run.step() ? run.integer(0) : 0;
}

void SqliteDatabase::add_function(const char* name, std::function<std::int64_t()>& function) const {
  // Not deterministic, so it is called where it stands and not ahead of the write lock; direct
  // only, so that no trigger or view in the file can call it.
  if (sqlite3_create_function_v2(db_.get(), name, 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, &function,
                                 call_function, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail(db_.get(), "open", Effect::reads);
  }
}

bool SqliteDatabase::empty_log() const {
  return sqlite3_wal_checkpoint_v2(db_.get(), "main", SQLITE_CHECKPOINT_TRUNCATE, nullptr,
                                   nullptr) == SQLITE_OK;
}

SqliteDatabase::Look SqliteDatabase::look_at_files() {
  waited_since_look_ = false;
  int moved = 0;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  Look all;
  // SQLite takes a file that it cannot look at for one that has moved.
  struct stat status {};
  const bool seen = moved == 0 || stat(sqlite3_db_filename(db_.get(), "main"), &status) == 0;
  if (!seen && !is_gone(errno)) all.error = errno;
  if (moved != 0 && all.error == 0) all.replaced = true;
  for (WatchedFile& file : log_) {
    const Look look = look_at(file);
    all.replaced = all.replaced || look.replaced;
    if (look.error != 0) all.error = look.error;
  }
  // A link that this user may not follow any more says nothing.
  if (linked_ && look_at(*linked_).replaced) all.replaced = true;
  return all;
}

void SqliteDatabase::watch_descriptors() {
  const InSqlite in;
  const auto own = std::make_shared<const OwnDescriptor>(open_log(file()));
  db_.get_deleter().own = own;
  note_descriptor(db_.get(), own);
}

bool SqliteDatabase::has_its_descriptors() const {
  const auto& own = db_.get_deleter().own;
  return !own || own->is_there();
}

void SqliteDatabase::look_before_commits() { sqlite3_commit_hook(db_.get(), refuse_commit, this); }

// Without a wait, the look at the call's beginning is as near to the commit as this one.
int SqliteDatabase::refuse_commit(void* database) {
  auto& db = *static_cast<SqliteDatabase*>(database);
  if (!db.waited_since_look_) return 0;
  const Look look = db.look_at_files();
  if (!look.replaced && look.error == 0) return 0;
  note_refused_commit(look.error);
  return 1;
}

// SQLite does not look: a process that opens the database when both are gone begins another log.
// They stay for as long as anybody has the database open, so that no other file can have their
// numbers.
SqliteDatabase::Look SqliteDatabase::look_at(WatchedFile& file) {
  // Nothing of times: once they were asked for, Linux gives the next write a time of its own. The
  // next sync would have that much more to do.
  struct statx status {};
  std::optional<FileId> id;
  if (statx(AT_FDCWD, file.path.c_str(), 0, STATX_INO, &status) == 0) {
    id = {status.stx_dev_major, status.stx_dev_minor, status.stx_ino};
  } else if (!is_gone(errno)) {
    return {.error = errno};
  }
  if (!file.id) file.id = id;
  return {.replaced = file.id != id};
}

SqliteTransaction::SqliteTransaction(const SqliteDatabase& db, std::string operation,
                                     const char* begin)
    : db_(db), operation_(std::move(operation)) {
  db_.execute(operation_, Effect::reads, begin);
}

bool SqliteDatabase::roll_back() const noexcept {
  if (sqlite3_get_autocommit(handle()) == 0)
    sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  return sqlite3_get_autocommit(handle()) != 0;
}

SqliteTransaction::~SqliteTransaction() {
  // Without memory it stays, and the next call rolls it back.
  if (!done_) static_cast<void>(db_.roll_back());
}

void SqliteTransaction::commit() {
  db_.execute(operation_, Effect::writes, "COMMIT");
  done_ = true;
}

}  // namespace distlock
