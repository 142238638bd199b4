#include "original/original_lock.h"

#include <chrono>

#include "original/documents.h"

namespace distlock::original {
namespace {

using sim::stored_lock;
using sim::Touches;

std::optional<Value> copy_of(const Value* value) {
  return value == nullptr ? std::nullopt : std::optional(*value);
}

}  // namespace

template <class Change>
bool OriginalLock::write(const char* verb, std::optional<Token> meant, Change change) {
  return program_.server().raw(
      verb, name_, Touches::lock,
      [=, id = program_.id, name = name_, &witness = program_.witness](MemoryTables& tables,
                                                                       const StoreNow&) {
        const auto before = stored_lock(tables.raw_lock(name));
        const bool matched = change(tables);
        witness.wrote({verb, id, name, meant}, before, stored_lock(tables.raw_lock(name)));
        return matched;
      });
}

bool OriginalLock::lock_try() {
  const auto lock = find();  // step 1
  if (!lock) {
    insert_free();
    return take(nullptr);
  }
  if (!taken(*lock)) return take(find_field(*lock, "ts"));  // step 3
  return holder_is_dead(*lock) && force(*lock) && take(nullptr);
}

std::optional<Document> OriginalLock::find() {
  return program_.server().raw(
      "find", name_, Touches::nothing,
      [name = name_](MemoryTables& tables, const StoreNow&) { return tables.raw_lock(name); });
}

void OriginalLock::insert_free() {
  try {
    write("insert", {},
          [name = name_](MemoryTables& tables) { return insert_free_lock(tables, name); });
  } catch (const Error&) {
    // Logged and ignored: step 4 tells.
  }
}

// Step 2, up to "forcefully taking over".
bool OriginalLock::holder_is_dead(const Document& lock) {
  const std::string process = stored_lock(lock).process;
  const auto ping = program_.server().raw(
      "find holder's ping", name_, Touches::nothing,
      [process](MemoryTables& tables, const StoreNow&) { return tables.raw_ping(process); });
  return is_dead(program_, process, ping);
}

bool OriginalLock::force(const Document& lock) {
  try {
    write("force", stored_lock(lock).ts,
          [name = name_](MemoryTables& tables) { return set_free(tables, name); });
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Step 4, on the condition of step 3.
bool OriginalLock::take(const Value* seen_ts) {
  const Token ts = program_.new_token();
  const bool matched = write("take", ts,
                             [=, id = program_.id, name = name_, now = program_.now(),
                              seen = copy_of(seen_ts)](MemoryTables& tables) {
                               auto lock = tables.raw_lock(name);
                               if (!lock || !is_free(*lock)) return false;
                               if (seen && copy_of(find_field(*lock, "ts")) != seen) return false;
                               write_claim(*lock, id, now, ts);
                               tables.put_lock(*lock);
                               return true;
                             });
  if (matched) {
    ts_ = ts;
  } else {
    find();  // `other` is the document as it is now.
  }
  return matched;
}

void OriginalLock::unlock() {
  for (int attempt = 1; attempt <= program_.constants.unlock_attempts; ++attempt) {
    try {
      write("unlock", ts_, [name = name_](MemoryTables& tables) { return set_free(tables, name); });
      return;
    } catch (const Error&) {
      const auto pause = std::chrono::seconds{1 << attempt};
      program_.clock.wait_until(program_.clock.steady_at_this_moment() + pause, {});
    }
  }
  program_.trace.say(program_.id, [&] { return "couldn't consummate unlock of " + name_; });
}

}  // namespace distlock::original
