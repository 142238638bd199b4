#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "distlock/store.h"
#include "stores/document.h"

namespace distlock {

/// The processes that stand in some line, for Line::list_waits().
struct ThoseInLine {
  std::set<std::string, std::less<>> processes;
  StoreTime since = StoreTime::max();  ///< When the first of them came.

  /// Whether one of them holds this lock, and took it then or later.
  bool took(const Document& lock) const;
};

/// Of the locks of a listing that could be read.
ThoseInLine those_in_line(const std::vector<Listed<LockRecord>>& locks);

}  // namespace distlock
