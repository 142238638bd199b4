#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "process/found_library.h"
#include "process/tool_process.h"

namespace distlock::testing {

enum class Jumping {
  wall_clock,   ///< Somebody sets it.
  every_clock,  ///< As far as a process can tell, the machine was suspended.
};

/// A clock that jumps while processes run that were started with its variables (libfaketime).
class JumpingClock {
 public:
  explicit JumpingClock(Jumping jumping) : jumping_(jumping) { jump("+0"); }

  /// How far it is off from now on.
  void jump(const std::string& offset) {
    const auto next = folder_.path() / "next";
    std::ofstream(next) << offset << '\n';
    std::filesystem::rename(next, file());
  }

  ToolProcess::Environment added_to(ToolProcess::Environment variables) const {
    variables["LD_PRELOAD"] = found_library("/usr/lib/*/faketime/libfaketimeMT.so.1");
    variables["FAKETIME_TIMESTAMP_FILE"] = file().string();
    variables["FAKETIME_NO_CACHE"] = "1";
    if (jumping_ == Jumping::wall_clock) {
      variables["FAKETIME_DONT_FAKE_MONOTONIC"] = "1";
      variables["FAKETIME_FORCE_MONOTONIC_FIX"] = "0";  // or waits with a limit end at once
    }
    return variables;
  }

 private:
  std::filesystem::path file() const { return folder_.path() / "offset"; }

  TemporaryFolder folder_;
  Jumping jumping_;
};

}  // namespace distlock::testing
