#pragma once

#include "stores/document.h"
#include "stores/sqlite/sqlite_database.h"

namespace distlock {

/// The columns of the row that a statement stands on, from `first` on and before `end`, as a
/// document: each value as its storage class and the column's name say. NULL is a missing field.
Document document_in(sqlite3_stmt* row, int first, int end);

}  // namespace distlock
