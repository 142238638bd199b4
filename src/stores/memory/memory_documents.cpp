#include "stores/memory/memory_documents.h"

namespace distlock {
namespace {

bool was_taken_at(const Document& lock, StoreTime when) {
  const auto* taken = field_as<StoreTime>(lock, "when");
  return taken != nullptr && *taken == when;
}

struct Matches {
  const Document* lock;
  const Token& ticket;
  const StoreNow& now;

  bool operator()(FromAbsent) const { return lock == nullptr; }
  bool operator()(const FromFree& from) const {
    return lock != nullptr && state_in(*lock) == LockState::free &&
           (!from.ts || carries(*lock, *from.ts)) && is_turn(*lock, ticket, now.time);
  }
  bool operator()(const FromHold& from) const {
    if (lock == nullptr || !carries(*lock, from.ts)) return false;
    const auto state = state_in(*lock);
    if (!state || *state == LockState::free) return false;
    return !from.when || was_taken_at(*lock, *from.when);
  }
};

}  // namespace

std::optional<Fence> next_fence(const Document& lock, const ClaimBasis& basis, const Claim& claim) {
  constexpr Fence kNone = 0;
  const Value* value = find_field(lock, "fence");
  const auto* fence = value == nullptr ? &kNone : std::get_if<Fence>(value);
  if (fence == nullptr || *fence < 0 || *fence == kFenceLimit) {
    return std::nullopt;
  }
  const Fence first = claim.fence == 0 ? *fence + 1 : claim.fence;
  const bool kept = first == *fence && may_keep_fence(basis, claim);
  if (first <= *fence && !kept) return std::nullopt;
  return last_of_block(first, claim.fences);
}

void set_line(Document& lock, std::vector<Waiter> line) {
  if (!line.empty()) return set_field(lock, "line", std::move(line));
  std::erase_if(lock, [](const auto& field) { return field.first == "line"; });
}

bool past_cutoff(const Claim& claim, const StoreNow& now) {
  return claim.cutoff.clock != now.clock || now.time > claim.cutoff.time;
}

bool matches(const Document* lock, const ClaimBasis& basis, const Claim& claim,
             const StoreNow& now) {
  return std::visit(Matches{lock, claim.ts, now}, basis);
}

void write_claim(Document& lock, const Claim& claim, Fence fence, const StoreNow& now) {
  set_field(lock, "state", static_cast<std::int32_t>(LockState::taken));
  set_field(lock, "process", claim.process);
  set_field(lock, "who", claim.who);
  set_field(lock, "when", now.time);
  set_field(lock, "why", claim.why);
  set_field(lock, "ts", claim.ts);
  set_field(lock, "fence", fence);
  set_field(lock, "takeover_after", std::int64_t{claim.takeover_after.count()});
}

LockRecord claimed_record(const Document& lock) {
  LockRecord record = written(lock, lock_from);
  record.line.clear();
  return record;
}

}  // namespace distlock
