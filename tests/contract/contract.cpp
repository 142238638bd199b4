#include "contract/contract.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>

namespace distlock::testing {

Token new_token() {
  static std::atomic<std::uint32_t> count = 0;
  const std::uint32_t number = ++count;
  Token token;
  token.bytes[0] = 0x65;
  for (std::size_t i = 0; i < 4; ++i) {
    token.bytes[8 + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i) & 0xFFU);
  }
  return token;
}

StoreNow cutoff_in(Store& store, std::chrono::milliseconds time_left) {
  StoreNow cutoff = store.list().now;
  cutoff.time += time_left;
  return cutoff;
}

Claim claim_by(Store& store, std::string process) {
  const std::string who = process + ":main:1";
  return {.process = std::move(process),
          .who = who,
          .why = "contract",
          .ts = new_token(),
          .takeover_after = std::chrono::minutes{16},
          .cutoff = cutoff_in(store)};
}

LockRecord claimed(Store& store, std::string_view name, const ClaimBasis& basis,
                   const Claim& claim) {
  const auto lock = store.claim(name, basis, claim);
  REQUIRE(lock);
  return *lock;
}

LockRecord held(Store& store, std::string_view name) {
  return claimed(store, name, FromAbsent{}, claim_by(store, "holder"));
}

void check_shown(Store& store, const LockRecord& lock) {
  const auto read = store.inspect(lock.name, Freshness::fresh).lock;
  REQUIRE(read);
  CHECK(read->state == lock.state);
  CHECK(read->process == lock.process);
  CHECK(read->who == lock.who);
  CHECK(read->why == lock.why);
  CHECK(read->when == lock.when);
  CHECK(read->ts == lock.ts);
  CHECK(read->fence == lock.fence);
  CHECK(read->takeover_after == lock.takeover_after);
  CHECK(read->freed_at == lock.freed_at);
}

Document free_lock(std::string_view name) {
  return {{"_id", std::string(name)}, {"state", std::int32_t{0}}, {"who", std::string()}};
}

Document taken_lock(std::string_view name, std::string_view process, const Token& ts) {
  return {{"_id", std::string(name)},
          {"state", std::int32_t{1}},
          {"process", std::string(process)},
          {"who", std::string(process) + ":conn12:846930886"},
          {"when", StoreTime{std::chrono::milliseconds{1300000000000}}},
          {"why", std::string("doing balance round")},
          {"ts", ts}};
}

Document ping_document(std::string_view process, StoreTime ping) {
  return {{"_id", std::string(process)}, {"ping", ping}};
}

Document with(Document document, std::string_view field, Value value) {
  const auto found = std::find_if(document.begin(), document.end(),
                                  [&](const auto& entry) { return entry.first == field; });
  if (found == document.end()) {
    document.emplace_back(field, std::move(value));
  } else {
    found->second = std::move(value);
  }
  return document;
}

Document without(const Document& document, std::string_view field) {
  Document rest = document;
  std::erase_if(rest, [&](const auto& entry) { return entry.first == field; });
  return rest;
}

const Value* field_of(const Document& document, std::string_view field) {
  for (const auto& [name, value] : document) {
    if (name == field) return &value;
  }
  return nullptr;
}

}  // namespace distlock::testing
