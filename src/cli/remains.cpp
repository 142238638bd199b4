#include "cli/remains.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "processes.h"

namespace distlock::cli {
namespace {

constexpr pid_t kInit = 1;

}  // namespace

Remains::Remains(std::string token, pid_t group, pid_t session)
    : token_(std::move(token)),
      group_(group),
      session_(session),
      begun_(running_process(getpid()).value_or(RunningProcess{}).started) {}

// A program that is about to be executed has no variables yet. Those of another user's process
// cannot be read: what has lost its parent, or is of the command's session, may be the command's.
Remains::Belongs Remains::belongs(const RunningProcess& process) const {
  if (group_ > 0 && process.group == group_) return Belongs::yes;
  if (known_.contains({process.id, process.started})) return Belongs::yes;
  const auto environment = environment_of(process.id);
  if (environment && has_token(*environment, token_)) return Belongs::yes;
  const bool silent =
      environment ? environment->empty() : process.session == session_ || process.parent == kInit;
  return silent ? Belongs::perhaps : Belongs::no;
}

Remains::Found Remains::find() {
  std::map<pid_t, Belongs> found;
  std::vector<RunningProcess> all = running_processes();
  std::erase_if(all, [&](const auto& one) { return one.id == getpid() || one.started < begun_; });
  for (const RunningProcess& process : all) found[process.id] = belongs(process);
  const auto in_group = [&](const auto& process) { return process.group == group_; };
  if (std::none_of(all.begin(), all.end(), in_group)) group_ = 0;
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
  for (const RunningProcess& process : all) {
    if (found[process.id] == Belongs::yes) result.sure.push_back(process.id);
    if (found[process.id] == Belongs::yes) known_.emplace(process.id, process.started);
    if (found[process.id] == Belongs::perhaps) result.perhaps.push_back(process.id);
  }
  return result;
}

}  // namespace distlock::cli
