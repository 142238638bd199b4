#include "pinger/member_repairs.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

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

// That of a member that most others show alike. Null if there is none.
const LockRecord* hold_of_most(std::string_view process, const std::vector<Inspection>& members,
                               const Token& ts) {
  std::map<std::pair<Fence, std::chrono::milliseconds>, std::vector<const LockRecord*>> alike;
  for (const Inspection& member : members) {
    if (!carries_of(process, member, ts) || !member.lock->takeover_after) continue;
    alike[{member.lock->fence, *member.lock->takeover_after}].push_back(&*member.lock);
  }
  const LockRecord* most = nullptr;
  std::size_t number = 0;
  for (const auto& [content, holds] : alike) {
    if (holds.size() >= number) most = holds.size() > number ? holds.front() : nullptr;
    number = std::max(number, holds.size());
  }
  return most;
}

}  // namespace

Repair repair_of(std::string_view process, const std::vector<Inspection>& members, const Token& ts,
                 const std::vector<Token>& lacking) {
  const LockRecord* const hold = hold_of_most(process, members, ts);
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
