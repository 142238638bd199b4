#include "stores/sqlite/sqlite_rows.h"

namespace distlock {
namespace {

std::string text_in(sqlite3_stmt* row, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(row, column))};
}

Value token_in(const std::string& text) {
  const auto token = token_from_hex(text);
  // Upper-case digits would equal no `ts` that a statement compares with.
  if (!token || to_hex(*token) != text) return Foreign{"text that is no ObjectId"};
  return *token;
}

Value value_in(sqlite3_stmt* row, int column, std::string_view name) {
  switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER: {
      const std::int64_t number = sqlite3_column_int64(row, column);
      if (name == "when" || name == "ping") return StoreTime{std::chrono::milliseconds{number}};
      return number;
    }
    case SQLITE_FLOAT:
      return sqlite3_column_double(row, column);
    case SQLITE_TEXT:
      if (name == "ts") return token_in(text_in(row, column));
      return text_in(row, column);
    default:
      return Foreign{"a blob"};
  }
}

}  // namespace

Document document_in(sqlite3_stmt* row, int first, int end) {
  Document document;
  for (int column = first; column < end; ++column) {
    if (sqlite3_column_type(row, column) == SQLITE_NULL) continue;
    const std::string name = sqlite3_column_name(row, column);
    document.emplace_back(name, value_in(row, column, name));
  }
  return document;
}

}  // namespace distlock
