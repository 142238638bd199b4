#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace distlock {
struct RunningProcess;
}

namespace distlock::cli {

/// The processes that a command has left behind whose `distlock` was killed. Known by what the
/// command was given: its group, its variable DISTLOCK_TOKEN, its children and theirs. For the
/// keeper, which was there before the command.
class Remains {
 public:
  /// Of the command's start: its group, if it leads one, its session and its parent. A session or
  /// parent of 0 is outside the PID namespace, and -1 is none.
  struct Origin {
    pid_t group = 0;
    pid_t session = -1;
    pid_t parent = -1;
  };

  /// `token`: of DISTLOCK_TOKEN.
  Remains(std::string token, const Origin& origin);

  struct Found {
    std::vector<pid_t> sure;
    std::vector<pid_t> perhaps;  ///< They do not tell. Not to be killed.

    bool all = true;  ///< False: there may be others that cannot be seen.

    bool none() const { return all && sure.empty() && perhaps.empty(); }
  };

  /// Those that still run. A process that is forked or loses its parent meanwhile may be missing:
  /// look again until none is left.
  Found find();

 private:
  enum class Belongs { no, perhaps, yes };

  Belongs belongs(const RunningProcess& process) const;

  const std::string token_;
  Origin origin_;  // No group once it is gone: another may get its number.
  const std::int64_t begun_;
  // By number and start: they may tell less later.
  std::set<std::pair<pid_t, std::int64_t>> known_;
};

}  // namespace distlock::cli
