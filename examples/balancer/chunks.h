#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>

#include "distlock/record.h"

namespace balancer {

/// The resource that the balancer works on, shared by all processes of a run: it counts the chunks
/// that were moved, and refuses whoever comes with a smaller fence than it has seen. That is what
/// makes a pause between a check and the act harmless (docs/guarantees.md).
class Chunks {
 public:
  /// Throws std::system_error if `folder` cannot be used.
  explicit Chunks(const std::filesystem::path& folder);
  ~Chunks();
  Chunks(const Chunks&) = delete;
  Chunks& operator=(const Chunks&) = delete;

  /// Moves a chunk, unless a greater fence has been here. Says whether it did.
  [[nodiscard]] bool move_one(distlock::Fence fence);

 private:
  // The greatest fence and the number of chunks in one word, so that one compare-and-set is both
  // the check and the act.
  std::atomic<std::uint64_t>* fence_and_count_;
};

}  // namespace balancer
