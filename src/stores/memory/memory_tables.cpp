#include "stores/memory/memory_tables.h"

#include <limits>
#include <set>

namespace distlock {
namespace {

// A ping by another clock must be this much older (R4, R13).
constexpr std::chrono::hours kOneDay{24};

template <class Type>
const Type* field_as(const Document& document, std::string_view name) {
  const Value* value = find_field(document, name);
  return value == nullptr ? nullptr : std::get_if<Type>(value);
}

bool carries(const Document& lock, const Token& ts) {
  const auto* held = field_as<Token>(lock, "ts");
  return held != nullptr && *held == ts;
}

bool was_taken_at(const Document& lock, StoreTime when) {
  const auto* taken = field_as<StoreTime>(lock, "when");
  return taken != nullptr && *taken == when;
}

// The fence of the next claim, or nothing if the stored one is malformed or cannot grow (R10).
std::optional<Fence> next_fence(const Document& lock) {
  const Value* value = find_field(lock, "fence");
  if (value == nullptr) return 1;
  const auto* fence = std::get_if<Fence>(value);
  if (fence == nullptr || *fence < 0 || *fence == std::numeric_limits<Fence>::max()) {
    return std::nullopt;
  }
  return *fence + 1;
}

// Whether `lock` (null: there is none) is still as the basis says.
struct Matches {
  const Document* lock;

  bool operator()(FromAbsent) const { return lock == nullptr; }
  bool operator()(const FromFree& from) const {
    return lock != nullptr && state_in(*lock) == LockState::free &&
           (!from.ts || carries(*lock, *from.ts));
  }
  bool operator()(const FromHold& from) const {
    if (lock == nullptr || !carries(*lock, from.ts)) return false;
    const auto state = state_in(*lock);
    if (!state || *state == LockState::free) return false;
    return !from.when || was_taken_at(*lock, *from.when);
  }
};

bool past_cutoff(const Claim& claim, const StoreNow& now) {
  return claim.cutoff.clock != now.clock || now.time > claim.cutoff.time;
}

}  // namespace

const Document* MemoryTables::Table::find(std::string_view id) const {
  const auto found = named.find(id);
  return found == named.end() ? nullptr : &found->second;
}

void MemoryTables::Table::put(const Document& document) {
  if (const auto* id = field_as<std::string>(document, "_id")) {
    named.insert_or_assign(*id, document);
  } else {
    others.push_back(document);
  }
}

void MemoryTables::Table::remove(std::string_view id) {
  const auto found = named.find(id);
  if (found != named.end()) named.erase(found);
}

Inspection MemoryTables::inspect(std::string_view name, const StoreNow& now) const {
  Inspection inspection{.lock = {}, .ping = {}, .now = now, .fresh = true};
  const Document* lock = locks_.find(name);
  if (lock == nullptr) return inspection;
  inspection.lock = lock_from(*lock);
  if (!inspection.lock->taken()) return inspection;
  const Document* ping = pings_.find(inspection.lock->process);
  if (ping != nullptr) inspection.ping = ping_from(*ping);
  return inspection;
}

std::optional<Carried> MemoryTables::carried(std::string_view name) const {
  const Document* lock = locks_.find(name);
  return lock == nullptr ? std::nullopt : std::optional(carried_in(*lock));
}

std::optional<LockRecord> MemoryTables::claim(std::string_view name, const ClaimBasis& basis,
                                              const Claim& claim, const StoreNow& now) {
  const Document* stored = locks_.find(name);
  if (past_cutoff(claim, now) || !std::visit(Matches{stored}, basis)) return std::nullopt;
  Document lock = stored != nullptr ? *stored : Document{{"_id", std::string(name)}};
  const auto fence = next_fence(lock);
  if (!fence) return std::nullopt;
  set_field(lock, "state", static_cast<std::int32_t>(LockState::taken));
  set_field(lock, "process", claim.process);
  set_field(lock, "who", claim.who);
  set_field(lock, "when", now.time);
  set_field(lock, "why", claim.why);
  set_field(lock, "ts", claim.ts);
  set_field(lock, "fence", *fence);
  set_field(lock, "takeover_after", std::int64_t{claim.takeover_after.count()});
  locks_.put(lock);
  return written(lock, lock_from);
}

ReleaseResult MemoryTables::release(std::string_view name, const Token& ts) {
  const Document* stored = locks_.find(name);
  if (stored == nullptr || !carries(*stored, ts)) return ReleaseResult::not_ours;
  const auto state = state_in(*stored);
  if (!state) lock_from(*stored);  // Throws: it cannot be told whether this is a hold (R14).
  if (state == LockState::free) return ReleaseResult::already_free;
  Document lock = *stored;
  set_field(lock, "state", static_cast<std::int32_t>(LockState::free));
  locks_.put(lock);
  return ReleaseResult::freed;
}

PingRecord MemoryTables::ping(std::string_view process, const StoreNow& now,
                              const PingHealth* health) {
  const Document* stored = pings_.find(process);
  Document ping = stored != nullptr ? *stored : Document{{"_id", std::string(process)}};
  set_field(ping, "ping", now.time);
  set_field(ping, "clock", now.clock);
  if (health != nullptr) {
    for (const auto& [name, number] : fields_of(*health)) set_field(ping, name, number);
  }
  pings_.put(ping);
  return written(ping, ping_from);
}

void MemoryTables::remove_ping(std::string_view process) { pings_.remove(process); }

std::int64_t MemoryTables::forget_pings(std::chrono::milliseconds age, const StoreNow& now) {
  // Whatever is not certainly free protects, also a malformed lock.
  std::set<std::string, std::less<>> holders;
  for (const auto& [name, lock] : locks_.named) {
    const auto* process = field_as<std::string>(lock, "process");
    if (process != nullptr && state_in(lock) != LockState::free) holders.insert(*process);
  }
  const auto forgettable = [&](const auto& entry) {
    const auto& [process, ping] = entry;
    const auto* time = field_as<StoreTime>(ping, "ping");
    if (time == nullptr || holders.contains(process)) return false;
    if (find_field(ping, "clock") == nullptr) return *time < now.time - age;
    const auto* clock = field_as<std::string>(ping, "clock");
    if (clock == nullptr) return false;
    return *time < now.time - age - (*clock == now.clock ? std::chrono::hours{0} : kOneDay);
  };
  return static_cast<std::int64_t>(std::erase_if(pings_.named, forgettable));
}

std::vector<StoredHold> MemoryTables::holds(std::string_view process) const {
  std::vector<StoredHold> holds;
  for (const auto& [name, lock] : locks_.named) {
    const auto* holder = field_as<std::string>(lock, "process");
    const auto* ts = field_as<Token>(lock, "ts");
    const auto state = state_in(lock);
    if (holder != nullptr && *holder == process && ts != nullptr && state &&
        *state != LockState::free) {
      holds.push_back({name, *ts});
    }
  }
  return holds;
}

Listing MemoryTables::list(const StoreNow& now) const {
  Listing listing{.locks = {}, .pings = {}, .now = now};
  for (const auto& [id, lock] : locks_.named) listing.locks.push_back(listed(lock, lock_from));
  for (const Document& lock : locks_.others) listing.locks.push_back(listed(lock, lock_from));
  for (const auto& [id, ping] : pings_.named) listing.pings.push_back(listed(ping, ping_from));
  for (const Document& ping : pings_.others) listing.pings.push_back(listed(ping, ping_from));
  return listing;
}

void MemoryTables::put_lock(const Document& document) { locks_.put(document); }
void MemoryTables::put_ping(const Document& document) { pings_.put(document); }
void MemoryTables::remove_lock(std::string_view name) { locks_.remove(name); }

std::optional<Document> MemoryTables::raw_lock(std::string_view name) const {
  const Document* found = locks_.find(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<Document> MemoryTables::raw_ping(std::string_view process) const {
  const Document* found = pings_.find(process);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

void MemoryTables::clear() { *this = {}; }

}  // namespace distlock
