#include "support/sqlite_file.h"

#include "stores/sqlite/sqlite_rows.h"

namespace distlock::testing {
namespace {

std::string identifier(std::string_view name) { return '"' + std::string(name) + '"'; }

struct Bind {
  sqlite3_stmt* statement;
  int index;

  void operator()(std::int32_t number) const { sqlite3_bind_int(statement, index, number); }
  void operator()(std::int64_t number) const { sqlite3_bind_int64(statement, index, number); }
  void operator()(double number) const { sqlite3_bind_double(statement, index, number); }
  void operator()(const std::string& text) const {
    sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  void operator()(StoreTime time) const { (*this)(std::int64_t{time.time_since_epoch().count()}); }
  void operator()(const Token& token) const { (*this)(to_hex(token)); }
  void operator()(const std::vector<Waiter>&) const {
    throw std::logic_error("lines are in a table of their own");
  }
  void operator()(const Foreign&) const { sqlite3_bind_zeroblob(statement, index, 3); }
};

}  // namespace

void SqliteFile::put(std::string_view table, const Document& document) {
  std::string names;
  std::string values;
  for (const auto& [name, value] : document) {
    const std::string known = "SELECT count(*) FROM pragma_table_info('" + std::string(table) +
                              "') WHERE name = '" + name + "'";
    if (integer(known) == 0) {
      execute("ALTER TABLE " + std::string(table) + " ADD COLUMN " + identifier(name));
    }
    names += (names.empty() ? "" : ", ") + identifier(name);
    values += values.empty() ? "?" : ", ?";
  }
  const SqliteStatement insert = db_.prepare(
      "test", Effect::writes,
      "INSERT OR REPLACE INTO " + std::string(table) + '(' + names + ") VALUES(" + values + ')');
  SqliteRun run(insert);
  int index = 0;
  for (const auto& [name, value] : document) std::visit(Bind{run.get(), ++index}, value);
  run.finish();
}

std::optional<Document> SqliteFile::raw(std::string_view table, std::string_view id) {
  const SqliteStatement select =
      db_.prepare("test", Effect::reads, "SELECT * FROM " + std::string(table) + " WHERE _id = ?1");
  SqliteRun run(select);
  if (!run.bind(1, id).step()) return std::nullopt;
  return document_in(run.get(), 0, sqlite3_column_count(run.get()));
}

}  // namespace distlock::testing
