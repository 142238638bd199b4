#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/export.h"

namespace distlock {

/// The clock of the store, in milliseconds since the Unix epoch. It has no now(): only a Store can
/// read it. Being a type of its own, it cannot be subtracted from a local time by mistake (R4).
struct StoreClock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StoreClock>;
  static constexpr bool is_steady = false;
};
using StoreTime = StoreClock::time_point;

/// Identifies one acquisition of one lock (`ts`, an ObjectId). Never reused.
struct Token {
  std::array<std::uint8_t, 12> bytes{};

  friend auto operator<=>(const Token&, const Token&) = default;
};

/// 24 lower-case hexadecimal digits.
DISTLOCK_EXPORT std::string to_hex(const Token& token);
/// The token that `hex` spells, or nothing if it is not 24 hexadecimal digits.
DISTLOCK_EXPORT std::optional<Token> token_from_hex(std::string_view hex);

/// Grows with every claim of a lock and never goes back, so that a resource can refuse the writes
/// of an earlier holder (R10). 0: no program that counts fences has ever claimed the lock.
using Fence = std::int64_t;
/// Every fence of a hold is less. A document with this one could not grow, and is malformed.
inline constexpr Fence kFenceLimit = std::numeric_limits<Fence>::max();

/// Values are stored; never renumber. 1 and 2 both mean taken (R14).
enum class LockState : std::int32_t {
  free = 0,
  taken = 1,             ///< As the original and this library write it.
  taken_by_mongodb = 2,  ///< As later generations of MongoDB's own lock manager write it.
};

/// A place in the line for a lock (R17).
struct Waiter {
  Token ticket;  ///< Also the `ts` of the hold that it gets.
  std::string process;
  std::string who;  ///< `process:thread:random`
  StoreTime since;
  /// When a claim passed it over, because it was not there at its turn.
  std::optional<StoreTime> passed_over;

  friend auto operator<=>(const Waiter&, const Waiter&) = default;
};

/// One document of `locks`.
struct LockRecord {
  std::string name;
  LockState state = LockState::free;
  std::string process;  ///< The holder's process id; names its document in `lockpings`.
  std::string who;      ///< `process:thread:random`
  std::string why;      ///< The purpose of the hold, for people.
  std::optional<StoreTime> when;
  std::optional<Token> ts;
  Fence fence = 0;
  /// The window that the holder itself states (R6). Absent in documents of other programs.
  std::optional<std::chrono::milliseconds> takeover_after;
  /// The last release, by the store's clock. Absent before it, and after one by another program.
  std::optional<StoreTime> freed_at;
  std::vector<Waiter> line;  ///< In order. Empty in what a claim gives back.
  /// On a mirrored store, the members that carry this record. Otherwise empty.
  std::vector<Token> members;

  bool taken() const { return state != LockState::free; }
};

/// How a process's pings have fared, as it says itself.
struct PingHealth {
  std::int64_t successes = 0;
  std::int64_t failures = 0;
  std::chrono::milliseconds round_trip{0};  ///< Of the last successful ping.
  std::chrono::milliseconds late_by{0};     ///< How much later than due the last one came.

  friend bool operator==(const PingHealth&, const PingHealth&) = default;
};

/// One document of `lockpings`.
struct PingRecord {
  std::string process;
  StoreTime ping;
  /// Which clock stamped `ping` (R4). Absent in documents of other programs.
  std::optional<std::string> clock;
  /// For people. Absent in documents of other programs, and if its fields are malformed.
  std::optional<PingHealth> health;
  /// The process has ended for sure, and all that might still act for it: the kernel says so (R23).
  bool ended = false;
  /// With `ended`: it was a `distlock run`. Of a hold that is in the store no more nobody has
  /// looked whether processes of its command are left.
  bool was_run = false;
};

}  // namespace distlock
