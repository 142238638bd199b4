#include "pinger/member_repairs.h"

#include <algorithm>
#include <optional>

namespace distlock {
namespace {

bool carries(const Inspection& member, const Token& ts) {
  return member.lock && member.lock->taken() && member.lock->ts == ts;
}

// It has granted another claim, or may have lost one, or somebody has freed the hold there (M3,
// M6).
bool never_grants(const Inspection& member, const LockRecord& hold) {
  return !carries(member, *hold.ts) && member.fence >= hold.fence;
}

std::optional<ClaimBasis> basis_on(const Inspection& member, const LockRecord& hold) {
  if (carries(member, *hold.ts)) return FromHold{*hold.ts, member.lock->when};
  if (!member.lock) return FromAbsent{};
  if (!member.lock->taken()) return FromFree{member.lock->ts};
  return std::nullopt;
}

Claim claim_of(const LockRecord& hold) {
  return {.process = hold.process,
          .who = hold.who,
          .why = hold.why,
          .ts = *hold.ts,
          .takeover_after = *hold.takeover_after,
          .cutoff = {},
          .fence = hold.fence};
}

}  // namespace

Repair repair_of(const std::vector<Inspection>& members, const Token& ts,
                 const std::vector<Token>& lacking) {
  const auto carrier = std::find_if(members.begin(), members.end(), [&](const Inspection& member) {
    return carries(member, ts) && member.lock->takeover_after;
  });
  if (carrier == members.end()) return {};
  Repair repair{.bases = {}, .claim = claim_of(*carrier->lock), .hopeless = {}};
  for (const Inspection& member : members) {
    if (std::find(lacking.begin(), lacking.end(), member.member) == lacking.end()) continue;
    const auto basis = basis_on(member, *carrier->lock);
    if (never_grants(member, *carrier->lock)) {
      repair.hopeless.push_back(member.member);
    } else if (basis) {
      repair.bases.push_back({member.member, *basis});
    }
  }
  return repair;
}

}  // namespace distlock
