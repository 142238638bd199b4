#include "original/redlock.h"

#include "original/documents.h"

namespace distlock::original {
namespace {

using sim::stored_lock;
using sim::Touches;

bool is_there(const Document& key, StoreTime now) {
  const auto* expires = field_as<StoreTime>(key, "expires");
  return taken(key) && expires != nullptr && now < *expires;
}

}  // namespace

Redlock::Redlock(Program& program, std::string name)
    : program_(program),
      name_(std::move(name)),
      time_to_live_(std::chrono::minutes{program.constants.takeover_minutes + 1}) {}

// SET key value NX PX time_to_live
bool Redlock::set_if_absent(std::size_t server, const Token& value) {
  return program_.servers[server]->raw(
      "take", name_, Touches::lock,
      [=, id = program_.id, name = name_, lives = time_to_live_, &witness = program_.witness](
          MemoryTables& tables, const StoreNow& now) {
        const auto key = tables.raw_lock(name);
        if (key && is_there(*key, now.time)) return false;
        tables.put_lock({{"_id", name},
                         {"state", 1},
                         {"process", id},
                         {"ts", value},
                         {"expires", now.time + lives}});
        witness.wrote({"take", id, name, value, server}, stored_lock(key),
                      stored_lock(tables.raw_lock(name)));
        return true;
      });
}

void Redlock::delete_if_equal(std::size_t server, const Token& value) {
  program_.servers[server]->raw("unlock", name_, Touches::lock,
                                [name = name_, value](MemoryTables& tables, const StoreNow&) {
                                  auto key = tables.raw_lock(name);
                                  if (!key || stored_lock(*key).ts != value) return false;
                                  set_field(*key, "state", 0);
                                  tables.put_lock(*key);
                                  return true;
                                });
}

bool Redlock::lock_try() {
  const Token value = program_.new_token();
  const StoreTime began = program_.now();  // step 1
  std::size_t granted = 0;
  for (std::size_t i = 0; i < program_.servers.size(); ++i) {  // step 2
    try {
      granted += set_if_absent(i, value) ? 1 : 0;
    } catch (const Error&) {
      // A server that is away is passed over.
    }
  }
  // Steps 3 and 4: the time to live, less what the claim took, less what clocks may drift apart.
  const auto drift = time_to_live_ / 100 + std::chrono::milliseconds{2};
  const StoreTime now = program_.now();
  const StoreTime until = now + (time_to_live_ - (now - began) - drift);
  if (granted < program_.servers.size() / 2 + 1 || until <= now) {
    release(value);  // step 5
    return false;
  }
  ts_ = value;
  valid_until_ = until;
  return true;
}

// On all servers, also those that granted nothing.
void Redlock::release(const Token& value) {
  for (std::size_t i = 0; i < program_.servers.size(); ++i) {
    try {
      delete_if_equal(i, value);
    } catch (const Error&) {
      // Its key expires.
    }
  }
}

void Redlock::unlock() {
  valid_until_.reset();
  release(ts_);
}

bool Redlock::holds() const { return valid_until_ && program_.now() < *valid_until_; }

}  // namespace distlock::original
