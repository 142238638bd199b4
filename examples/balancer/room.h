#pragma once

#include <filesystem>
#include <string>

#include "distlock/clock.h"
#include "distlock/record.h"

namespace balancer {

/// The state in which a process found the room.
struct Entry {
  enum class Found {
    nobody,
    leftover,  ///< The mark of a process that had to stop acting before now: killed, paused, slow.
    somebody,  ///< A process that may still act: two are in the room.
  } found = Found::nobody;
  std::string mark;  ///< Of whoever was found.
};

/// A room in which only one process may be at a time, and in which a second one shows. It knows
/// nothing of the lock: a file made with O_EXCL is all there is to it. The file says
/// until when the process that made it may act. The kernel keeps a lock on it for as long as that
/// process lives. So a newcomer can tell a mark left behind from a neighbour. It also sees if
/// the lock was granted too early.
class Room {
 public:
  Room(const std::filesystem::path& folder, distlock::Clock& clock)
      : path_(folder / "room"), clock_(clock) {}
  ~Room() { close_mark(); }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Leaves this process's mark in the room, in place of one left behind.
  Entry enter(const std::string& process, distlock::Fence fence, distlock::SteadyTime until);

  /// Says in the mark until when this process may act now.
  void stay(distlock::SteadyTime until);

  /// Removes the mark. False if it is gone or another's: somebody has been in the room meanwhile.
  bool leave();

 private:
  bool make_mark();
  std::string read_mark() const;
  bool may_act(const std::string& mark) const;
  bool is_locked() const;
  void close_mark();

  std::filesystem::path path_;
  distlock::Clock& clock_;
  std::string who_;
  distlock::SteadyTime until_;
  int mark_ = -1;
};

}  // namespace balancer
