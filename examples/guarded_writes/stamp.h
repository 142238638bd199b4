#pragma once

#include <cstdint>

#include "distlock/record.h"

namespace guarded {

/// The memory of a resource that is not beside the lock: the last change that it let through.
/// Changes pass in the order of `fence`, and within one hold in that of `number`. So a request that
/// arrives late or twice never undoes a later one.
///
/// Take `fence` and `ts` once, from DistributedLock::record() right after the claim. Count `number`
/// up for each change, and repeat a change of unknown outcome with the same.
struct Stamp {
  distlock::Fence fence = 0;
  /// Tells two holds with one fence apart, as there can be once somebody has deleted the lock's
  /// document.
  distlock::Token ts;
  std::int64_t number = 1;
};

enum class Outcome {
  written,  ///< Confirmed.
  refused,  ///< A later hold was here. Nothing was changed.
};

/// How far raise_fence() should go beyond the fence that a resource has stored: fences that were
/// given out before the lock's document was deleted, and have not reached the resource, are skipped
/// as well.
inline constexpr distlock::Fence kFencesSkipped = distlock::Fence{1} << 32;

}  // namespace guarded
