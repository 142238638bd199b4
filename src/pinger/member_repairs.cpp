#include "pinger/member_repairs.h"

#include <algorithm>

#include "basis_if_free.h"
#include "carries.h"

namespace distlock {
namespace {

Claim claim_of(const LockRecord& hold) {
  return {.process = hold.process,
          .who = hold.who,
          .why = hold.why,
          .ts = *hold.ts,
          .takeover_after = *hold.takeover_after,
          .cutoff = {},
          .fence = hold.fence,
          .repairs = true};
}

// It may have lost a hold with that fence, and counts for none with it, though it carries it (M6).
// Or it has granted a later claim, or somebody has freed the hold there (M3). The same fence is
// that of a claim that never had a majority: the hold has it.
bool is_hopeless(const Inspection& member, const Claim& hold) {
  if (member.fence_of_lost >= hold.fence) return true;
  if (carries(member, hold.ts)) return false;
  if (member.fence > hold.fence) return true;
  return member.fence == hold.fence && member.lock && member.lock->ts == hold.ts;
}

// As a member shows it that has it as it was granted. Null if none does.
const LockRecord* hold_as_granted(std::string_view process, const std::vector<Inspection>& members,
                                  const Token& ts, const GrantedTerms& terms) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Inspection& member) {
    return carries_of(process, member, ts) && member.lock->fence == terms.fence &&
           member.lock->takeover_after == terms.window;
  });
  return found != members.end() ? &*found->lock : nullptr;
}

}  // namespace

Repair repair_of(std::string_view process, const std::vector<Inspection>& members, const Token& ts,
                 const std::vector<Token>& lacking, const GrantedTerms& terms) {
  const LockRecord* const hold = hold_as_granted(process, members, ts, terms);
  if (hold == nullptr) return {};
  Repair repair{.bases = {}, .claim = claim_of(*hold), .hopeless = {}};
  for (const Inspection& member : members) {
    if (std::find(lacking.begin(), lacking.end(), member.member) == lacking.end()) continue;
    if (is_hopeless(member, repair.claim)) {
      repair.hopeless.push_back(member.member);
    } else if (carries(member, ts)) {
      repair.bases.push_back({member.member, FromHold{ts, member.lock->when}});
    } else if (const auto basis = basis_if_free(member)) {
      repair.bases.push_back({member.member, *basis});
    }
  }
  return repair;
}

}  // namespace distlock
