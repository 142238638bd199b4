#pragma once

#include <sqlite3.h>

#include <array>
#include <boost/thread/mutex.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "distlock/error.h"
#include "stores/effect.h"
#include "stores/sqlite/own_descriptor.h"

namespace distlock {

/// A prepared statement, kept for as long as its database.
class SqliteStatement {
 public:
  SqliteStatement(std::string operation, Effect effect, sqlite3_stmt* owned);

  sqlite3_stmt* get() const { return statement_.get(); }
  const std::string& operation() const { return operation_; }
  Effect effect() const { return effect_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };

  std::string operation_;
  Effect effect_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// One run of a statement: bind from 1 on, step, read columns from 0 on. Its write is committed
/// once step() has given false.
class SqliteRun {
 public:
  explicit SqliteRun(const SqliteStatement& statement) : statement_(statement) {}
  ~SqliteRun();
  SqliteRun(const SqliteRun&) = delete;
  SqliteRun& operator=(const SqliteRun&) = delete;

  /// `text` must outlive the run.
  SqliteRun& bind(int index, std::string_view text);
  SqliteRun& bind(int index, std::int64_t number);

  /// Whether there is another row. Errors: as errc_of().
  bool step();
  /// To the end, past any rows.
  void finish();
  /// To the first row of a write that always gives one. Errors: step()'s, and
  /// refuse_lost_write()'s.
  void step_to_row();

  sqlite3_stmt* get() const { return statement_.get(); }
  std::int64_t integer(int column) const { return sqlite3_column_int64(get(), column); }

 private:
  const SqliteStatement& statement_;
};

/// One connection to one file. Not for several threads at once.
class SqliteDatabase {
 public:
  /// Opens a file that exists, for reading and writing. Each wait for other writers lasts
  /// `busy_limit` at most.
  SqliteDatabase(const std::string& path, std::chrono::milliseconds busy_limit);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  /// From now on waits for other writers end when since_boot() is `give_up_at`.
  void wait_until(std::chrono::milliseconds give_up_at) { give_up_at_ = give_up_at; }
  /// How long a wait that begins now may last.
  std::chrono::milliseconds time_to_wait() const;

  /// `operation` names it in messages, as in "claim".
  SqliteStatement prepare(std::string operation, Effect effect, std::string_view sql) const;
  void execute(const std::string& operation, Effect effect, const char* sql) const;
  std::int64_t integer(const std::string& operation, const char* sql) const;

  /// Adds the SQL function `name()`. `function` must outlive the database.
  void add_function(const char* name, std::function<std::int64_t()>& function) const;

  /// Ends a transaction that is under way, if one is. False: it could not be ended, and whatever is
  /// written would be a part of it.
  [[nodiscard]] bool roll_back() const noexcept;

  std::int64_t changes() const { return sqlite3_changes64(db_.get()); }
  /// All since it was opened, those that were rolled back as well.
  std::int64_t all_changes() const { return sqlite3_total_changes64(db_.get()); }

  /// Moves all of the write-ahead log into the file, so that the next write begins the log anew.
  /// Gives whether it did, and the disk has it.
  bool empty_log() const;

  /// Of the paths of the file and its write-ahead log.
  struct Look {
    /// One leads to another file by now or to none: a write reaches nobody.
    bool replaced = false;
    /// The system's, if one cannot be looked at.
    int error = 0;
  };
  /// The log is watched from the first call on that finds it.
  Look look_at_files();
  /// From now on has_its_descriptors() knows. Its log is there. Errors: `not_applied`.
  void watch_descriptors();
  /// False where the program has closed them, as one that closes all does. Their numbers may be of
  /// other files by now: SQLite must not be called any more.
  bool has_its_descriptors() const;
  /// From now on a write that has waited for another writer looks again before its commit, while it
  /// has the write lock. Errors of such a write: as errc_of_look().
  void look_before_commits();

  /// Whether it has waited for another writer since this was asked last.
  bool has_waited() { return std::exchange(waited_, false); }

  const std::string& path() const { return path_; }
  /// SQLite's own name for the file, which follows symbolic links.
  std::string file() const { return sqlite3_db_filename(db_.get(), "main"); }
  sqlite3* handle() const { return db_.get(); }

 private:
  /// Of all connections to one file in this process one closes at a time: of two that close at
  /// once SQLite takes neither for the last, and both leave its log behind.
  struct Close {
    std::shared_ptr<boost::mutex> one_at_a_time;
    /// The program may close all descriptors, and will not close SQLite's and leave this one.
    std::shared_ptr<const OwnDescriptor> own = nullptr;
    void operator()(sqlite3* db) const noexcept;
  };

  /// The device's two numbers and the file's.
  using FileId = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

  /// A file, and which it is, once it was seen.
  struct WatchedFile {
    std::string path;
    std::optional<FileId> id;
  };

  static Look look_at(WatchedFile& file);
  void watch_links();
  static int wait_for_writer(void* database, int waits);
  static int refuse_commit(void* database);

  std::string path_;
  std::chrono::milliseconds busy_limit_;
  std::optional<std::chrono::milliseconds> give_up_at_;
  std::chrono::milliseconds wait_ends_{};
  bool waited_ = false;
  bool waited_since_look_ = false;
  std::minstd_rand random_{std::random_device{}()};
  std::unique_ptr<sqlite3, Close> db_;
  std::array<WatchedFile, 2> log_;
  std::optional<WatchedFile> linked_;  // The file by the name that was given, if that has links.
};

/// A transaction of several statements. Rolled back unless committed.
class SqliteTransaction {
 public:
  /// `begin` is the kind: "BEGIN" for one view of the file, "BEGIN IMMEDIATE" to write.
  SqliteTransaction(const SqliteDatabase& db, std::string operation, const char* begin);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  void commit();

 private:
  const SqliteDatabase& db_;
  std::string operation_;
  bool done_ = false;
};

}  // namespace distlock
