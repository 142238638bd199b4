#include "sim/stored_lock.h"

#include <algorithm>
#include <cstring>

namespace distlock::sim {
namespace {

// Any whole number, whatever its type.
std::optional<std::int64_t> whole_number(const Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* small = std::get_if<std::int32_t>(value)) return *small;
  if (const auto* large = std::get_if<std::int64_t>(value)) return *large;
  return std::nullopt;
}

}  // namespace

std::size_t TokenHash::operator()(const Token& token) const {
  std::uint64_t tail = 0;
  std::memcpy(&tail, token.bytes.data() + 4, sizeof tail);
  return tail;
}

StoredLock stored_lock(const std::optional<Document>& document) {
  StoredLock lock;
  if (!document) return lock;
  lock.exists = true;
  const auto state = whole_number(find_field(*document, "state"));
  lock.sound = state && *state >= 0 && *state <= 2;
  lock.taken = !state || *state != 0;
  if (const Value* process = find_field(*document, "process")) {
    const auto* text = std::get_if<std::string>(process);
    lock.sound = lock.sound && text != nullptr;
    if (text != nullptr) lock.process = *text;
  }
  if (const Value* ts = find_field(*document, "ts")) {
    const auto* token = std::get_if<Token>(ts);
    lock.sound = lock.sound && token != nullptr;
    if (token != nullptr) lock.ts = *token;
  }
  lock.fence = whole_number(find_field(*document, "fence")).value_or(0);
  const auto window = whole_number(find_field(*document, "takeover_after"));
  lock.takeover_after = std::chrono::milliseconds{window.value_or(0)};
  return lock;
}

}  // namespace distlock::sim
