#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stores/document.h"
#include "stores/sqlite/sqlite_database.h"
#include "stores/sqlite/sqlite_rows.h"

namespace distlock::testing {

/// A SQLite file of ours as another program sees it, with tables and columns and no rules.
class SqliteFile {
 public:
  explicit SqliteFile(const std::string& path) : db_(path, std::chrono::seconds{10}) {}

  void execute(const std::string& sql) { db_.execute("test", Effect::writes, sql.c_str()); }
  std::int64_t integer(const std::string& sql) { return db_.integer("test", sql.c_str()); }

  /// Writes a row, adding the columns that the table lacks, and for a lock its line. `Foreign`
  /// becomes a blob.
  void put(std::string_view table, const Document& document);
  std::optional<Document> raw(std::string_view table, std::string_view id);

 private:
  void put_row(std::string_view table, const Document& document);
  void put_line(const std::string& lock, const std::vector<Waiter>& line);
  SqlitePlaces line_of(std::string_view lock);

  SqliteDatabase db_;
};

}  // namespace distlock::testing
