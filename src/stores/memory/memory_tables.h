#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/line.h"
#include "distlock/store.h"
#include "stores/document.h"

namespace distlock {

/// The two collections as plain data, and what each call of the port does to them. No lock, no
/// clock, no failure: the owner of the tables brings those, so a simulation drives the same code
/// with its own. Kept as documents rather than records so that malformed ones exist here too (R14).
///
/// Errors: `bad_record`, as Store. Threads: none of its own; calls must not overlap.
class MemoryTables {
 public:
  Inspection inspect(std::string_view name, const StoreNow& now) const;
  std::optional<Carried> carried(std::string_view name) const;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim, const StoreNow& now);
  ReleaseResult release(std::string_view name, const Token& ts, const StoreNow& now);
  // Of Line.
  Standing stand(std::string_view name, const Claim& claim, const StoreNow& now);
  void leave(std::string_view name, const Token& ticket);
  Freed release_and_tell(std::string_view name, const Token& ts, const StoreNow& now);
  Listing list_waits(const std::vector<std::string>& names, const StoreNow& now) const;
  PingRecord ping(std::string_view process, const PingHealth& health, const StoreNow& now);
  void remove_ping(std::string_view process);
  std::int64_t forget_pings(std::chrono::milliseconds age, const StoreNow& now);
  std::vector<StoredHold> holds(std::string_view process) const;
  Listing list(const StoreNow& now) const;

  /// For tests: documents as another program might have written them.
  void put_lock(const Document& document);
  void put_ping(const Document& document);
  void remove_lock(std::string_view name);
  std::optional<Document> raw_lock(std::string_view name) const;
  std::optional<Document> raw_ping(std::string_view process) const;
  void clear();

 private:
  // By `_id`. Those whose `_id` is no string are found by no name, but listed.
  struct Table {
    std::map<std::string, Document, std::less<>> named;
    std::vector<Document> others;

    const Document* find(std::string_view id) const;
    void put(const Document& document);
    void remove(std::string_view id);
  };

  Table locks_;
  Table pings_;
};

}  // namespace distlock
