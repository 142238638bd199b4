#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "distlock/record.h"

namespace distlock {

/// How a wait goes that has lasted for half a second (DistributedLock::on_waiting()).
struct WaitReport {
  /// The lock as it was seen, with all who wait in its `line`. Nothing: the store failed.
  std::optional<LockRecord> lock;
  /// How many stand before this wait in that line. Nothing: the wait has no place of its own there,
  /// as on a store without lines, or behind another thread of its process.
  std::optional<std::size_t> place;
  /// Why the store failed, where it did.
  std::string failure;
};

}  // namespace distlock
