#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stores/document.h"
#include "stores/sqlite/sqlite_database.h"

namespace distlock {

/// The columns of the row that a statement stands on, from `first` on and before `end`, as a
/// document: each value as its storage class and the column's name say. NULL is a missing field.
Document document_in(sqlite3_stmt* row, int first, int end);

/// The statement of a row of `lockpings` on its process's witness (R23). Empty: the ping was sent
/// without one. Another version of distlock may have sent it and left an earlier statement there.
std::string witness_stated_in(const Document& ping);

/// The places of one line, gathered row by row.
class SqlitePlaces {
 public:
  /// The columns from `first` on: ticket, number, process, who, since, passed. No ticket, no place.
  void add(sqlite3_stmt* row, int first);

  /// Adds the field `line`: the places in the order of their numbers, or what is wrong with one. An
  /// empty line is no field.
  void put_into(Document& lock);

 private:
  std::vector<std::pair<std::int64_t, Waiter>> places_;
  std::optional<std::string> problem_;
};

}  // namespace distlock
