#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "distlock/error.h"
#include "support/mirror_fleet.h"

namespace distlock::testing {

inline constexpr std::array<std::size_t, 3> kThree{0, 1, 2};

/// A process of the original on three mirrored servers, whose documents are those of a MirrorFleet.
/// Each step of Part 1 of docs/protocol.md is a function, so that a test can put anything between
/// two of them; lock_try() makes them all. The original reads from the first server that answers.
/// It writes to all three, and begins only if all three answer.
///
/// Errors: `not_applied` where a server is away before a write, `outcome_unknown` in the middle.
class OriginalOnThree {
 public:
  OriginalOnThree(MirrorFleet& fleet, std::string process)
      : fleet_(fleet), process_(std::move(process)) {}

  /// Its troubles. Of a lost write the server says that it found nothing to change: the connection
  /// broke, and the question after the write came over a new one.
  void set_away(std::size_t server, bool away) {
    away ? void(away_.insert(server)) : void(away_.erase(server));
  }
  void lose_next_write(std::size_t server) { lost_.insert(server); }
  void set_clock_off(std::chrono::milliseconds off) { clock_off_ = off; }

  /// Ping thread, step 1.
  void ping() {
    prepare();
    for (const std::size_t i : kThree) {
      send(i, [this](MemoryTables& tables) {
        tables.put_ping({{"_id", process_}, {"ping", now()}});
        return true;
      });
    }
  }

  /// lock_try, step 1. True if the lock is free by what it read, which step 3 keeps.
  bool find() {
    auto lock = first_answering().raw_lock(kLock);
    if (!lock) {
      lock = Document{{"_id", kLock}, {"state", std::int32_t{0}}, {"who", std::string()}};
      prepare();
      for (const std::size_t i : kThree) {
        send(i, [&](MemoryTables& tables) {
          if (!tables.raw_lock(kLock)) tables.put_lock(*lock);
          return true;
        });
      }
    }
    seen_ = *lock;
    return state_in(seen_) == LockState::free;
  }
  /// lock_try, step 2, up to "forcefully taking over". Never of a holder without a ping.
  bool holder_is_dead() {
    const auto ping = first_answering().raw_ping(text(seen_, "process"));
    const auto* time = ping ? field_as<StoreTime>(*ping, "ping") : nullptr;
    if (time == nullptr || now() < *time) return false;
    return std::chrono::floor<std::chrono::minutes>(now() - *time) > kTakeover;
  }
  /// lock_try, step 2: "set `state: 0` by name".
  void force() {
    prepare();
    for (const std::size_t i : kThree) send(i, set_free);
    seen_ = {};
  }

  /// lock_try, step 4, before the first server is asked: the new `ts`, by its own clock.
  void begin_claim() {
    ts_ = new_token();
    prepare();
  }
  /// lock_try, step 4, on one server: from free, and by step 3 with the `ts` that was seen.
  void claim_on(std::size_t server) {
    const auto* seen = field_as<Token>(seen_, "ts");
    matched_[server] = send(server, [&](MemoryTables& tables) {
      auto lock = tables.raw_lock(kLock);
      if (!lock || state_in(*lock) != LockState::free) return false;
      if (seen != nullptr && !carries(*lock, *seen)) return false;
      write_wanted(*lock);
      tables.put_lock(*lock);
      return true;
    });
  }
  /// Between steps 4 and 5: whether the update got through on some servers and not on others.
  bool update_not_the_same() const {
    return matched_[0] != matched_[1] || matched_[0] != matched_[2];
  }
  /// lock_try, step 4, where all servers said the same: the lock is got if they found it.
  bool got_from_all() { return holds_ = matched_[0]; }

  /// lock_try, step 5: the document of one server. The greatest `ts` counts, free or taken.
  void read_from(std::size_t server) {
    require_there(server);
    const auto lock = tables(server).raw_lock(kLock);
    const auto* ts = lock ? field_as<Token>(*lock, "ts") : nullptr;
    if (ts != nullptr && greatest_ < *ts) greatest_ = *ts;
  }
  /// lock_try, step 5: "if it is ours".
  bool greatest_is_ours() {
    holds_ = false;
    return std::exchange(greatest_, {}) == ts_;
  }
  /// lock_try, step 5: "completed lock propagation", on one server. By name, whatever is there.
  void propagate_to(std::size_t server) {
    send(server, [&](MemoryTables& tables) {
      auto lock = tables.raw_lock(kLock);
      if (!lock) return false;
      write_wanted(*lock);
      tables.put_lock(*lock);
      return true;
    });
  }
  /// lock_try, step 5, written everywhere.
  bool got_by_tournament() { return holds_ = true; }

  /// Steps 1 to 5, with nothing in between.
  bool lock_try() {
    if (!find()) {
      if (!holder_is_dead()) return false;
      force();
    }
    begin_claim();
    for (const std::size_t i : kThree) claim_on(i);
    if (!update_not_the_same()) return got_from_all();
    for (const std::size_t i : kThree) read_from(i);
    if (!greatest_is_ours()) return false;
    prepare();
    for (const std::size_t i : kThree) propagate_to(i);
    return got_by_tournament();
  }

  /// unlock(), before the first server is asked.
  void begin_release() {
    holds_ = false;
    prepare();
  }
  /// unlock(), "set `state: 0` by name" on one server.
  void release_on(std::size_t server) { matched_[server] = send(server, set_free); }
  /// unlock(), one attempt to set `state: 0` by name, and the pause after one that failed. It has
  /// failed also where not all servers found the document.
  bool unlock_attempt(int number) {
    try {
      begin_release();
      for (const std::size_t i : kThree) release_on(i);
      if (!update_not_the_same()) return true;
    } catch (const Error&) {
      // As one that failed.
    }
    fleet_.clock->advance(std::chrono::seconds{1 << number});
    return false;
  }
  /// unlock(). False: "couldn't consummate unlock request".
  bool unlock() { return unlock_attempt(1) || unlock_attempt(2) || unlock_attempt(3); }

  /// From a lock_try() that says true to the unlock(): it knows of no other end.
  bool holds() const { return holds_; }

 protected:
  static constexpr std::chrono::minutes kTakeover{15};
  inline static const std::string kLock = "jobs";
  using Change = std::function<bool(MemoryTables&)>;

  static std::string text(const Document& document, std::string_view field) {
    const auto* value = field_as<std::string>(document, field);
    return value == nullptr ? "" : *value;
  }
  static bool set_free(MemoryTables& tables) {
    auto lock = tables.raw_lock(kLock);
    if (!lock) return false;
    set_field(*lock, "state", std::int32_t{0});
    tables.put_lock(*lock);
    return true;
  }

  MemoryTables& tables(std::size_t server) { return fleet_.stores[server].tables; }
  MemoryTables& first_answering() {
    for (const std::size_t i : kThree) {
      if (!away_.contains(i)) return tables(i);
    }
    throw Error(Errc::not_applied, "all servers down");
  }
  // Each server has to answer before any is written to.
  void prepare() {
    if (!away_.empty()) throw Error(Errc::not_applied, "prepare failed");
  }
  void require_there(std::size_t server) {
    if (away_.contains(server)) throw Error(Errc::outcome_unknown, "a server went away");
  }
  bool send(std::size_t server, const Change& change) {
    require_there(server);
    return lost_.erase(server) == 0 && change(tables(server));
  }

  StoreTime now() const {
    return StoreTime{fleet_.clock->wall_now().time_since_epoch() + clock_off_};
  }
  // Seconds first, as in an ObjectId: so the greatest is the latest, by its maker's clock.
  Token new_token() {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now().time_since_epoch()).count();
    Token token;
    for (std::size_t i = 0; i < 4; ++i) {
      token.bytes[i] = static_cast<std::uint8_t>(seconds >> (24 - 8 * i));
    }
    std::copy_n(process_.begin(), std::min<std::size_t>(7, process_.size()), &token.bytes[4]);
    token.bytes[11] = ++tokens_;
    return token;
  }
  void write_wanted(Document& lock) const {
    set_field(lock, "state", std::int32_t{1});
    set_field(lock, "who", process_ + ":conn1:1");
    set_field(lock, "process", process_);
    set_field(lock, "when", now());
    set_field(lock, "why", std::string("work"));
    set_field(lock, "ts", ts_);
  }

  MirrorFleet& fleet_;
  const std::string process_;
  Document seen_;
  Token ts_;
  std::array<bool, kThree.size()> matched_{};
  Token greatest_;
  bool holds_ = false;

 private:
  std::chrono::milliseconds clock_off_{0};
  std::set<std::size_t> away_;
  std::set<std::size_t> lost_;
  std::uint8_t tokens_ = 0;
};

}  // namespace distlock::testing
