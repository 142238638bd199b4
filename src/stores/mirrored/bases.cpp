#include "stores/mirrored/bases.h"

#include <algorithm>
#include <optional>

#include "basis_if_free.h"

namespace distlock::mirrored {
namespace {

// Whether a document is as a basis says.
struct IsAs {
  const std::optional<LockRecord>& lock;

  bool operator()(FromAbsent) const { return !lock; }
  bool operator()(const FromFree& from) const {
    return lock && !lock->taken() && (!from.ts || lock->ts == from.ts);
  }
  bool operator()(const FromHold& from) const {
    return lock && lock->taken() && lock->ts == from.ts && (!from.when || lock->when == *from.when);
  }
};

bool is_as(const ClaimBasis& basis, const std::optional<LockRecord>& lock) {
  return std::visit(IsAs{lock}, basis);
}

// The lock's fence in a member's document. The member's own may be greater, where it came back
// (M6).
Fence fence_in(const std::optional<LockRecord>& lock) { return lock ? lock->fence : 0; }

}  // namespace

// A hold with a greater fence than theirs is that of another claim, which came first: it is left to
// end. Where such a claim was freed, it keeps nobody out. A member without the hold that the claim
// starts from may be claimed if nobody has it. Nothing that comes late makes its own basis true
// again: a document stays, and a `ts` comes once.
Bases bases_in(const std::vector<Inspection>& members, const ClaimBasis& basis,
               std::size_t majority) {
  Bases found;
  Fence of_holds = 0;
  std::vector<MemberBasis> others;
  for (const Inspection& seen : members) {
    found.greatest = std::max(found.greatest, seen.fence);
    if (seen.lock && seen.lock->taken()) of_holds = std::max(of_holds, seen.lock->fence);
    if (is_as(basis, seen.lock)) {
      found.bases.push_back({seen.member, basis});
      found.of_basis = std::max(found.of_basis, fence_in(seen.lock));
    } else if (const auto own = basis_if_free(seen)) {
      others.push_back({seen.member, *own});
    }
  }
  const bool refused = of_holds > found.of_basis || found.bases.size() < majority;
  if (refused) {
    found.bases.clear();
  } else {
    found.bases.insert(found.bases.end(), others.begin(), others.end());
  }
  return found;
}

}  // namespace distlock::mirrored
