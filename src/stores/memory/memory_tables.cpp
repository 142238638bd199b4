#include "stores/memory/memory_tables.h"

#include <set>
#include <variant>

#include "stores/memory/memory_documents.h"
#include "turns.h"

namespace distlock {
namespace {

// A ping by another clock must be this much older (R4, R13).
constexpr std::chrono::hours kOneDay{24};

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
  check_fences(claim);
  const Document* stored = locks_.find(name);
  if (past_cutoff(claim, now) || !matches(stored, basis, claim, now)) return std::nullopt;
  Document lock = stored != nullptr ? *stored : Document{{"_id", std::string(name)}};
  const auto fence = next_fence(lock, basis, claim);
  if (!fence) return std::nullopt;
  write_claim(lock, claim, *fence, now);
  const std::vector<Waiter> line = line_of(lock);
  const bool takes_over = std::holds_alternative<FromHold>(basis);
  set_line(lock, takes_over ? line::without(claim.ts, line)
                            : line::after_claim(claim.ts, line, now.time));
  locks_.put(lock);
  return claimed_record(lock);
}

ReleaseResult MemoryTables::release(std::string_view name, const Token& ts, const StoreNow& now) {
  const Document* stored = locks_.find(name);
  if (stored == nullptr || !carries(*stored, ts)) return ReleaseResult::not_ours;
  const LockState state = required_state(*stored);
  if (state == LockState::free) return ReleaseResult::already_free;
  Document lock = *stored;
  set_field(lock, "state", static_cast<std::int32_t>(LockState::free));
  set_field(lock, "freed_at", now.time);
  locks_.put(lock);
  return ReleaseResult::freed;
}

PingRecord MemoryTables::ping(std::string_view process, const PingHealth& health,
                              const StoreNow& now) {
  const Document* stored = pings_.find(process);
  Document ping = stored != nullptr ? *stored : Document{{"_id", std::string(process)}};
  set_field(ping, "ping", now.time);
  set_field(ping, "clock", now.clock);
  for (const auto& [name, number] : fields_of(health)) set_field(ping, name, number);
  pings_.put(ping);
  return written(ping, ping_from);
}

void MemoryTables::remove_ping(std::string_view process) { pings_.remove(process); }

std::int64_t MemoryTables::forget_pings(std::chrono::milliseconds age, const StoreNow& now) {
  // A lock that is not certainly free protects, also a malformed one.
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
