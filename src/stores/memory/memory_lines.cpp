#include <algorithm>

#include "stores/memory/memory_documents.h"
#include "stores/memory/memory_tables.h"
#include "stores/those_in_line.h"
#include "turns.h"

// The lines of the memory store: R17 as it is written in line.h.
namespace distlock {
namespace {

Document free_document(std::string_view name) {
  return {{"_id", std::string(name)},
          {"state", static_cast<std::int32_t>(LockState::free)},
          {"who", std::string()}};
}

}  // namespace

Standing MemoryTables::stand(std::string_view name, const Claim& claim, const StoreNow& now) {
  check_fences(claim);
  const Document* stored = locks_.find(name);
  Document lock = stored != nullptr ? *stored : free_document(name);
  const LockRecord before = lock_from(lock);  // Throws for a malformed one.
  if (before.taken() && carries(lock, claim.ts)) return {claimed_record(lock)};
  // A free lock that carries the ticket has been held with it: this request comes once more.
  const bool spent = carries(lock, claim.ts);
  if (spent || past_cutoff(claim, now)) {
    return {std::nullopt, line::stands(claim.ts, before.line), !before.taken()};
  }
  check_room_for_fences(before, claim);
  if (!before.taken() && is_turn(lock, claim.ts, now.time)) {
    write_claim(lock, claim, *last_of_block(before.fence + 1, claim.fences), now);
    set_line(lock, line::after_claim(claim.ts, before.line, now.time));
    locks_.put(lock);
    return {claimed_record(lock)};
  }
  const Waiter place{claim.ts, claim.process, claim.who, now.time, std::nullopt};
  std::vector<Waiter> line = line::after_refusal(place, before.line);
  const bool in_line = line::stands(claim.ts, line);
  set_line(lock, std::move(line));
  locks_.put(lock);
  return {std::nullopt, in_line, !before.taken()};
}

void MemoryTables::leave(std::string_view name, const Token& ticket) {
  const Document* stored = locks_.find(name);
  if (stored == nullptr) return;
  const std::vector<Waiter> line = line_of(*stored);
  if (!line::stands(ticket, line)) return;
  Document lock = *stored;
  set_line(lock, line::without(ticket, line));
  locks_.put(lock);
}

Freed MemoryTables::release_and_tell(std::string_view name, const Token& ts, const StoreNow& now) {
  const ReleaseResult result = release(name, ts, now);
  if (result != ReleaseResult::freed) return {.result = result};
  return line::freed(line_of(*locks_.find(name)));
}

Listing MemoryTables::list_waits(const std::vector<std::string>& names, const StoreNow& now) const {
  Listing listing{.locks = {}, .pings = {}, .now = now};
  for (const auto& [id, lock] : locks_.named) {
    if (find_field(lock, "line") != nullptr) listing.locks.push_back(listed(lock, lock_from));
  }
  const ThoseInLine those = those_in_line(listing.locks);
  for (const auto& [id, lock] : locks_.named) {
    const bool asked_for = std::find(names.begin(), names.end(), id) != names.end();
    if (find_field(lock, "line") == nullptr && (asked_for || those.took(lock)))
      listing.locks.push_back(listed(lock, lock_from));
  }
  for (const std::string& process : those.processes) {
    if (const Document* ping = pings_.find(process))
      listing.pings.push_back(listed(*ping, ping_from));
  }
  return listing;
}

}  // namespace distlock
