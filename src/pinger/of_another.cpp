#include "pinger/of_another.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "carries.h"

namespace distlock {

bool may_be_of_another(std::string_view process, const Members* members,
                       const std::vector<Inspection>& seen, const Token& ts) {
  if (members == nullptr) return false;
  std::map<std::string_view, std::size_t> others;
  for (const Inspection& member : seen) {
    if (carries(member, ts) && member.lock->process != process) ++others[member.lock->process];
  }
  const std::size_t silent = 2 * members->majority() - 1 - seen.size();
  return std::any_of(others.begin(), others.end(), [&](const auto& other) {
    return other.second + silent >= members->majority();
  });
}

}  // namespace distlock
