#pragma once

#include <chrono>

#include "distlock/record.h"

namespace distlock {

/// A hold's terms, as they were granted. Each member of a mirrored store that carries it shows the
/// same, or somebody has edited it there.
struct GrantedTerms {
  Fence fence = 0;  ///< As it is stored: the last of a block (R21).
  std::chrono::milliseconds window{0};
};

}  // namespace distlock
