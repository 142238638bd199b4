#pragma once

#include <filesystem>
#include <string>

#include "distlock/record.h"

namespace balancer {

/// What a process found on entering the room.
struct Entry {
  enum class Found {
    nobody,
    leftover,  ///< The mark of a process that is dead or stopped, and so does nothing here.
    somebody,  ///< A process that runs: two are in the room.
  } found = Found::nobody;
  std::string mark;  ///< Of whoever was found.
};

/// A room in which only one process may be at a time, and in which a second one shows. It knows
/// nothing of locks: a file made with O_EXCL is all there is to it.
class Room {
 public:
  explicit Room(const std::filesystem::path& folder) : mark_(folder / "room") {}

  /// Leaves this process's mark in the room, in place of any that is there.
  Entry enter(const std::string& process, distlock::Fence fence);

  /// Removes the mark. False if it is gone or another's: somebody has been in the room meanwhile.
  bool leave();

 private:
  bool make_mark(const std::string& text);
  std::string read_mark() const;

  std::filesystem::path mark_;
  std::string ours_;
};

}  // namespace balancer
