#include <algorithm>
#include <functional>
#include <string>

#include "in_milliseconds.h"
#include "stores/mirrored/mirrored_store.h"
#include "text.h"

// Why a claim is refused where only members that are away can say what it may be (M3, M6).
namespace distlock::mirrored {
namespace {

using std::chrono::milliseconds;

}  // namespace

// The members that are missing here may have such a fence, too, or make a majority without it.
std::string MirroredStore::fence_in_doubt(std::string_view name,
                                          const std::vector<Inspection>& seen) const {
  const auto great = great_in_doubt(fences_of(seen), majority());
  if (!great) return "";
  const Inspection& look = seen[*great];
  const auto member = std::find_if(all_.begin(), all_.end(),
                                   [&](const auto& one) { return one->token() == look.member; });
  const std::string where = member == all_.end() ? "a member" : (*member)->store->description();
  const bool of_identity = look.fence_of_lost >= kGreatFence;
  const std::string document(of_identity ? kIdentityName : name);
  return "the fence of document " + in_quotes(document) + " on " + where + " is as great as " +
         std::to_string(of_identity ? look.fence_of_lost + 1 : look.fence) +
         ", and too few other members show whether a majority has such a one; nothing was changed: "
         "bring the other members back, mend what is malformed on them, or give that document "
         "a fence as the others have";
}

// A member that lost its data is back when the longest window has passed. By then no hold may count
// on what it lost (M6). A majority says how long it is: one document that somebody has changed says
// nothing. A member that is away counts by its last answer.
void MirroredStore::check_window(const Claim& claim) const {
  std::vector<milliseconds> windows;
  std::string less;
  for (const auto& member : all_) {
    const auto identity = member->identity();
    if (!identity) continue;
    windows.push_back(identity->longest_takeover);
    if (claim.takeover_after <= windows.back()) continue;
    less += "; " + member->store->description() + " allows " + in_milliseconds(windows.back());
  }
  if (windows.size() < majority()) return;  // Too few members to be claimed.
  std::sort(windows.begin(), windows.end(), std::greater<>());
  if (claim.takeover_after <= windows.at(majority() - 1)) return;
  const std::string too_long =
      "a takeover window of " + in_milliseconds(claim.takeover_after) + " is too long for ";
  const std::size_t unknown = all_.size() - windows.size();
  const milliseconds at_most = windows[majority() - 1 - unknown];
  if (claim.takeover_after > at_most) {
    throw Error(Errc::invalid_argument,
                too_long + "this mirrored store, which allows " + in_milliseconds(at_most) +
                    ": make takeover_after shorter, or found the store anew with a longer "
                    "MirrorOptions::longest_takeover (longestTakeoverMS in a connection string)");
  }
  throw Error(Errc::not_applied,
              too_long +
                  "some members of the mirrored store, and too few others tell whether a "
                  "majority allows it" +
                  less + ": bring the other members back, or make takeover_after shorter");
}

}  // namespace distlock::mirrored
