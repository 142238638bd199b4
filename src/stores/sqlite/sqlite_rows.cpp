#include "stores/sqlite/sqlite_rows.h"

#include <algorithm>
#include <limits>

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
      if (name == "when" || name == "ping" || name == "freed_at") {
        return StoreTime{std::chrono::milliseconds{number}};
      }
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

bool is(sqlite3_stmt* row, int column, int type) {
  return sqlite3_column_type(row, column) == type;
}

bool is_text(sqlite3_stmt* row, int column) {
  return is(row, column, SQLITE_TEXT) &&
         static_cast<std::size_t>(sqlite3_column_bytes(row, column)) <= kTextBytesMost;
}

StoreTime time_in(sqlite3_stmt* row, int column) {
  return StoreTime{std::chrono::milliseconds{sqlite3_column_int64(row, column)}};
}

// The first column that is not as it should be, or null.
const char* problem_of(sqlite3_stmt* row, int first) {
  const bool ticket = is(row, first, SQLITE_TEXT);
  if (!ticket || !std::holds_alternative<Token>(token_in(text_in(row, first)))) return "ticket";
  // A number that cannot grow would leave no place behind it.
  const std::int64_t number = sqlite3_column_int64(row, first + 1);
  const bool grows = number >= 0 && number < std::numeric_limits<std::int64_t>::max();
  if (!is(row, first + 1, SQLITE_INTEGER) || !grows) return "number";
  if (!is_text(row, first + 2)) return "process";
  if (!is_text(row, first + 3)) return "who";
  if (!is(row, first + 4, SQLITE_INTEGER)) return "since";
  if (!is(row, first + 5, SQLITE_INTEGER) && !is(row, first + 5, SQLITE_NULL)) return "passed";
  return nullptr;
}

Waiter waiter_in(sqlite3_stmt* row, int first) {
  Waiter waiter{*token_from_hex(text_in(row, first)), text_in(row, first + 2),
                text_in(row, first + 3), time_in(row, first + 4), std::nullopt};
  if (is(row, first + 5, SQLITE_INTEGER)) waiter.passed_over = time_in(row, first + 5);
  return waiter;
}

}  // namespace

// The time of the ping stands before it.
std::string witness_stated_in(const Document& ping) {
  const auto* time = field_as<StoreTime>(ping, "ping");
  const auto* stated = field_as<std::string>(ping, "witness");
  if (time == nullptr || stated == nullptr) return {};
  const std::string with = std::to_string(time->time_since_epoch().count()) + ' ';
  return stated->starts_with(with) ? stated->substr(with.size()) : std::string();
}

void SqlitePlaces::add(sqlite3_stmt* row, int first) {
  if (is(row, first, SQLITE_NULL) || problem_) return;
  if (const char* problem = problem_of(row, first)) {
    problem_ = "a line with a wrong \"" + std::string(problem) + R"(" in table "waiters")";
    return;
  }
  places_.emplace_back(sqlite3_column_int64(row, first + 1), waiter_in(row, first));
}

void SqlitePlaces::put_into(Document& lock) {
  if (problem_) lock.emplace_back("line", Foreign{*problem_});
  if (problem_ || places_.empty()) return;
  std::sort(places_.begin(), places_.end());
  std::vector<Waiter> line;
  for (auto& [number, waiter] : places_) line.push_back(std::move(waiter));
  lock.emplace_back("line", std::move(line));
}

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
