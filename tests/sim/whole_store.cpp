#include "sim/whole_store.h"

#include <algorithm>

namespace distlock::sim {

// The lists of the members are of different moments: only what all of them are later than was seen.
std::vector<StoredHold> WholeStore::holds(std::string_view process) {
  oracle_.asks_for_holds(process);
  for (const auto& member : members_) member->forget_list();
  std::vector<StoredHold> stored = store_->holds(process);
  Time listed_since = kNever;
  for (const auto& member : members_) {
    if (const auto since = member->listed_since()) listed_since = std::min(listed_since, *since);
  }
  oracle_.heard_of_holds(process, listed_since);
  return stored;
}

std::optional<Carried> WholeStore::carried(std::string_view name) {
  try {
    return store_->carried(name);
  } catch (const Error&) {
    oracle_.could_not_look(members_.front()->process(), name);
    throw;
  }
}

}  // namespace distlock::sim
