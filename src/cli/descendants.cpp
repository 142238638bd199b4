#include "cli/descendants.h"

#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "processes.h"

namespace distlock::cli {
namespace {

// In one tick the kernel gives rising numbers, but begins anew behind the last. Nothing is older
// than a process whose start is not known.
bool is_older(const RunningProcess& process, const ProcessIdentity& other) {
  constexpr pid_t kForksOfATick = 16'000;
  if (process.started != other.started) return process.started < other.started;
  const pid_t before = other.id - process.id;
  return before < -kForksOfATick || (before > 0 && before <= kForksOfATick);
}

bool is_same(const RunningProcess& process, const ProcessIdentity& other) {
  return process.id == other.id && process.started == other.started.value_or(process.started);
}

}  // namespace

ProcessIdentity identity_of(pid_t id) {
  const auto running = running_process(id);
  return {id, running ? std::optional(running->started) : std::nullopt};
}

Descendants look_for_descendants(pid_t root, const ProcessIdentity& spared) {
  const SeenProcesses seen = running_processes();
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  for (const RunningProcess& process : seen.running) {
    if (is_same(process, spared)) continue;
    const bool older = process.parent == root && is_older(process, spared);
    if (!older) children[process.parent].push_back(process.id);
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto own = children.find(found[i]);
    if (own != children.end()) found.insert(found.end(), own->second.begin(), own->second.end());
  }
  std::erase(found, root);
  return {.running = std::move(found), .all = seen.all};
}

std::vector<pid_t> descendants_of(pid_t root, const ProcessIdentity& spared) {
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
