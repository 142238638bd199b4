#include "cli/descendants.h"

#include <unordered_map>

#include "processes.h"

namespace distlock::cli {

std::vector<pid_t> descendants_of(pid_t root, pid_t spared) {
  std::unordered_map<pid_t, std::vector<pid_t>> children;
  for (const RunningProcess& process : running_processes().running) {
    children[process.parent].push_back(process.id);
  }
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto own = children.find(found[i]);
    if (own != children.end()) found.insert(found.end(), own->second.begin(), own->second.end());
  }
  std::erase(found, root);
  std::erase(found, spared);
  return found;
}

}  // namespace distlock::cli
