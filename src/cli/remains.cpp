#include "cli/remains.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "processes.h"

namespace distlock::cli {

Remains::Remains(std::string token, const Origin& origin)
    : token_(std::move(token)),
      origin_(origin),
      begun_(running_process(getpid()).value_or(RunningProcess{}).started) {}

// A program that is about to be executed tells no variables yet, and another user's process none at
// all. Such a process may be the command's if it has lost its parent: it has the one
// then that this process got when the command's parent ended. Or if it is of the command's session.
Remains::Belongs Remains::belongs(const RunningProcess& process) const {
  if (origin_.group > 0 && process.group == origin_.group) return Belongs::yes;
  if (known_.contains({process.id, process.started})) return Belongs::yes;
  const auto environment = environment_of(process.id);
  if (environment && has_token(*environment, token_)) return Belongs::yes;
  const bool near = process.session == origin_.session || process.parent == origin_.parent ||
                    process.parent == getppid();
  return near && !environment ? Belongs::perhaps : Belongs::no;
}

Remains::Found Remains::find() {
  std::map<pid_t, Belongs> found;
  SeenProcesses seen = running_processes();
  std::vector<RunningProcess>& all = seen.running;
  std::erase_if(all, [&](const auto& one) { return one.id == getpid() || one.started < begun_; });
  for (const RunningProcess& process : all) found[process.id] = belongs(process);
  const auto in_group = [&](const auto& process) { return process.group == origin_.group; };
  if (std::none_of(all.begin(), all.end(), in_group)) origin_.group = 0;
  // A child belongs at least as much as its parent.
  for (bool changed = true; changed;) {
    changed = false;
    for (const RunningProcess& process : all) {
      const auto parent = found.find(process.parent);
      Belongs& own = found[process.id];
      if (parent == found.end() || parent->second <= own) continue;
      own = parent->second;
      changed = true;
    }
  }
  Found result;
  result.all = seen.all;
  for (const RunningProcess& process : all) {
    if (found[process.id] == Belongs::yes) result.sure.push_back(process.id);
    if (found[process.id] == Belongs::yes) known_.emplace(process.id, process.started);
    if (found[process.id] == Belongs::perhaps) result.perhaps.push_back(process.id);
  }
  return result;
}

}  // namespace distlock::cli
