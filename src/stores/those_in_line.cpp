#include "stores/those_in_line.h"

#include <algorithm>

namespace distlock {

bool ThoseInLine::took(const Document& lock) const {
  const auto state = state_in(lock);
  const auto* process = field_as<std::string>(lock, "process");
  const auto* when = field_as<StoreTime>(lock, "when");
  return state && *state != LockState::free && process != nullptr && processes.contains(*process) &&
         when != nullptr && *when >= since;
}

ThoseInLine those_in_line(const std::vector<Listed<LockRecord>>& locks) {
  ThoseInLine those;
  for (const auto& lock : locks) {
    if (!lock.record) continue;
    for (const Waiter& waiter : lock.record->line) {
      those.processes.insert(waiter.process);
      those.since = std::min(those.since, waiter.since);
    }
  }
  return those;
}

}  // namespace distlock
