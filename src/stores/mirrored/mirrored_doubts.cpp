#include <algorithm>
#include <string>

#include "stores/mirrored/mirrored_store.h"
#include "text.h"

// Why a claim is refused where only members that are away can say what it may be (M3, M6).
namespace distlock::mirrored {

// The members that are missing here may have such a fence, too, or make a majority without it.
std::string MirroredStore::fence_in_doubt(std::string_view name,
                                          const std::vector<Inspection>& seen) const {
  std::vector<Fence> fences;
  for (const Inspection& one : seen) fences.push_back(one.fence);
  const auto great = great_in_doubt(fences, majority());
  if (!great) return "";
  const Inspection& look = seen[*great];
  const auto member = std::find_if(all_.begin(), all_.end(),
                                   [&](const auto& one) { return one->token() == look.member; });
  const std::string where = member == all_.end() ? "a member" : (*member)->store->description();
  const bool of_identity = look.fence_of_lost >= kGreatFence;
  const std::string document(of_identity ? kIdentityName : name);
  return "the fence of document " + in_quotes(document) + " on " + where + " is as great as " +
         std::to_string(fences[*great]) +
         ", and too few other members show whether a majority has such a one; nothing was changed: "
         "bring the other members back, or give that document a fence as the others have";
}

}  // namespace distlock::mirrored
