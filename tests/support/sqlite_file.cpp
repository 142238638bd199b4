#include "support/sqlite_file.h"

#include <algorithm>

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
  void operator()(const std::vector<Waiter>&) const {}  // In a table of their own.
  void operator()(const Foreign&) const { sqlite3_bind_zeroblob(statement, index, 3); }
};

}  // namespace

void SqliteFile::put(std::string_view table, const Document& document) {
  Document columns = document;
  const auto line = std::find_if(columns.begin(), columns.end(),
                                 [](const auto& field) { return field.first == "line"; });
  if (table == kLocks) execute("DELETE FROM waiters WHERE lock = '" + id_of(document) + "'");
  if (line != columns.end()) {
    const auto* places = std::get_if<std::vector<Waiter>>(&line->second);
    if (places != nullptr) put_line(id_of(document), *places);
    columns.erase(line);
  }
  put_row(table, columns);
}

void SqliteFile::put_row(std::string_view table, const Document& document) {
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

void SqliteFile::put_line(const std::string& lock, const std::vector<Waiter>& line) {
  execute("BEGIN");
  std::int64_t number = 0;
  for (const Waiter& waiter : line) {
    Document place{{"lock", lock},       {"ticket", waiter.ticket},
                   {"number", ++number}, {"process", waiter.process},
                   {"who", waiter.who},  {"since", waiter.since}};
    if (waiter.passed_over) place.emplace_back("passed", *waiter.passed_over);
    put_row("waiters", place);
  }
  execute("COMMIT");
}

std::optional<Document> SqliteFile::raw(std::string_view table, std::string_view id) {
  const SqliteStatement select =
      db_.prepare("test", Effect::reads, "SELECT * FROM " + std::string(table) + " WHERE _id = ?1");
  SqliteRun run(select);
  if (!run.bind(1, id).step()) return std::nullopt;
  Document document = document_in(run.get(), 0, sqlite3_column_count(run.get()));
  if (table == kLocks) line_of(id).put_into(document);
  return document;
}

SqlitePlaces SqliteFile::line_of(std::string_view lock) {
  const SqliteStatement select = db_.prepare(
      "test", Effect::reads,
      "SELECT ticket, number, process, who, since, passed FROM waiters WHERE lock = ?1");
  SqlitePlaces line;
  SqliteRun run(select);
  run.bind(1, lock);
  while (run.step()) line.add(run.get(), 0);
  return line;
}

}  // namespace distlock::testing
