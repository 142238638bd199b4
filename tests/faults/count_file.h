#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distlock/record.h"

namespace faults {

/// A number in a file that refuses who comes with a smaller fence than somebody before, as
/// docs/protect-your-resource.md has it: the fence is noted at the read and at the write.
class CountFile {
 public:
  explicit CountFile(const std::string& path);
  ~CountFile();
  CountFile(const CountFile&) = delete;
  CountFile& operator=(const CountFile&) = delete;

  /// Nothing: refused.
  std::optional<std::int64_t> read(distlock::Fence fence);
  bool write(distlock::Fence fence, std::int64_t value);

 private:
  int file_;
};

}  // namespace faults
