#pragma once

#include <optional>
#include <string>

#include "sim/scheduler.h"
#include "stores/document.h"

namespace distlock::sim {

struct TokenHash {
  std::size_t operator()(const Token& token) const;
};

/// The content of a lock's document, read without the library's help. `sound` is false for one that
/// nobody could judge.
struct StoredLock {
  bool sound = true;
  bool exists = false;
  bool taken = false;
  std::string process;
  std::optional<Token> ts;
  Fence fence = 0;
  Time takeover_after{0};

  friend bool operator==(const StoredLock&, const StoredLock&) = default;
};
StoredLock stored_lock(const std::optional<Document>& document);

}  // namespace distlock::sim
