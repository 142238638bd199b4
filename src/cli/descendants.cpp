#include "cli/descendants.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "processes.h"

namespace distlock::cli {
namespace {

// In one tick the kernel gives rising numbers, but begins anew behind the last.
bool is_older(const RunningProcess& process, const RunningProcess& other) {
  constexpr pid_t kForksOfATick = 16'000;
  if (process.started != other.started) return process.started < other.started;
  const pid_t before = other.id - process.id;
  return before < -kForksOfATick || (before > 0 && before <= kForksOfATick);
}

}  // namespace

Descendants look_for_descendants(pid_t root, pid_t spared) {
  const SeenProcesses seen = running_processes();
  const auto spared_one = std::find_if(seen.running.begin(), seen.running.end(),
                                       [&](const auto& process) { return process.id == spared; });
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  for (const RunningProcess& process : seen.running) {
    const bool older = spared_one != seen.running.end() && is_older(process, *spared_one);
    if (process.parent != root || !older) children[process.parent].push_back(process.id);
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto own = children.find(found[i]);
    if (own != children.end()) found.insert(found.end(), own->second.begin(), own->second.end());
  }
  std::erase(found, root);
  std::erase(found, spared);
  return {.running = std::move(found), .all = seen.all};
}

std::vector<pid_t> descendants_of(pid_t root, pid_t spared) {
  return look_for_descendants(root, spared).running;
}

void warn_of_hidden_descendants(std::ostream& err, const std::string& proc) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink(proc + "/self", error);
  if (!error && self == std::to_string(getpid())) return;
  err << "distlock: " << proc << " does not show the processes here. A loss of the lock ends the "
      << "command, and its group if it leads one, but no others that it has started\n"
      << std::flush;
}

}  // namespace distlock::cli
