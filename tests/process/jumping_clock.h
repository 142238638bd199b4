#pragma once

#include <glob.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

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
    variables["LD_PRELOAD"] = library();
    variables["FAKETIME_TIMESTAMP_FILE"] = file().string();
    variables["FAKETIME_NO_CACHE"] = "1";
    if (jumping_ == Jumping::wall_clock) {
      variables["FAKETIME_DONT_FAKE_MONOTONIC"] = "1";
      variables["FAKETIME_FORCE_MONOTONIC_FIX"] = "0";  // or waits with a limit end at once
    }
    return variables;
  }

 private:
  static std::string library() {
    glob_t found{};
    const int result = glob("/usr/lib/*/faketime/libfaketimeMT.so.1", 0, nullptr, &found);
    const std::string path = result == 0 ? found.gl_pathv[0] : "";
    globfree(&found);
    if (path.empty()) throw std::runtime_error("libfaketime is needed: install it (tools/setup)");
    return path;
  }

  std::filesystem::path file() const { return folder_.path() / "offset"; }

  TemporaryFolder folder_;
  Jumping jumping_;
};

}  // namespace distlock::testing
