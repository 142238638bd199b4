#include <algorithm>

#include "line.h"
#include "stores/memory/memory_documents.h"
#include "stores/memory/memory_tables.h"

// The lines of the memory store: R17 as it is written in line.h.
namespace distlock {
namespace {

bool stands(const std::vector<Waiter>& line, const Token& ticket) {
  return std::any_of(line.begin(), line.end(),
                     [&](const Waiter& waiter) { return waiter.ticket == ticket; });
}

// Where a claim was refused: the ticket's owner is there, so nothing is held against it.
std::vector<Waiter> with_place(std::vector<Waiter> line, const Claim& claim, StoreTime now) {
  for (Waiter& waiter : line) {
    if (waiter.ticket == claim.ts) waiter.passed_over.reset();
  }
  if (!stands(line, claim.ts) && line.size() < line::kPlacesMost) {
    line.push_back({claim.ts, claim.process, claim.who, now, std::nullopt});
  }
  return line;
}

Document free_document(std::string_view name) {
  return {{"_id", std::string(name)},
          {"state", static_cast<std::int32_t>(LockState::free)},
          {"who", std::string()}};
}

}  // namespace

Standing MemoryTables::stand(std::string_view name, const Claim& claim, const StoreNow& now) {
  const Document* stored = locks_.find(name);
  Document lock = stored != nullptr ? *stored : free_document(name);
  const LockRecord before = lock_from(lock);  // Throws for a malformed one.
  if (before.taken() && carries(lock, claim.ts)) return {claimed_record(lock)};
  // What is free and carries the ticket has been held with it: this request comes once more.
  const bool spent = carries(lock, claim.ts);
  if (spent || past_cutoff(claim, now)) {
    return {std::nullopt, stands(before.line, claim.ts), !before.taken()};
  }
  if (!before.taken() && is_turn(lock, claim.ts, now)) {
    write_claim(lock, claim, before.fence + 1, now);
    set_line(lock, line::after_claim(claim.ts, before.line, now.time));
    locks_.put(lock);
    return {claimed_record(lock)};
  }
  std::vector<Waiter> line = with_place(before.line, claim, now.time);
  const bool in_line = stands(line, claim.ts);
  set_line(lock, std::move(line));
  locks_.put(lock);
  return {std::nullopt, in_line, !before.taken()};
}

void MemoryTables::leave(std::string_view name, const Token& ticket) {
  const Document* stored = locks_.find(name);
  if (stored == nullptr) return;
  std::vector<Waiter> line = line_of(*stored);
  if (!stands(line, ticket)) return;
  std::erase_if(line, [&](const Waiter& waiter) { return waiter.ticket == ticket; });
  Document lock = *stored;
  set_line(lock, std::move(line));
  locks_.put(lock);
}

std::vector<std::string> MemoryTables::next(std::string_view name) const {
  const Document* stored = locks_.find(name);
  return stored == nullptr ? std::vector<std::string>{} : line::next_in(line_of(*stored));
}

}  // namespace distlock
