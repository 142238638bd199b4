#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "distlock/store.h"
#include "stores/document.h"

namespace distlock::testing {

enum class Call {
  inspect,
  claim,
  release,
  ping,
  remove_ping,
  forget_pings,
  holds,
  stand,
  leave,
  release_and_tell,
  put_lock,  // Behind the port's back, as the next one.
  put_ping,
};

enum class Basis { absent, free, free_of_hold, hold };
enum class Cutoff { ahead, past, of_another_clock };

/// In a document that is put: the name of the store's own clock, whatever that is.
inline constexpr const char* kThisClock = "this clock";

/// One call, the same for every store. The values that only the store knows are filled in by its
/// turn: its time, its clock's name, and the `ts` that the lock carries just then.
struct Step {
  Call call{};
  std::string name;     ///< Of the lock.
  std::string process;  ///< The caller.
  Freshness freshness{};
  Basis basis{};
  Cutoff cutoff{};
  bool right_ts = false;  ///< Name the hold that is stored, else `other_ts`.
  Token other_ts;
  Token new_ts;           ///< Written by a claim.
  std::size_t place = 0;  ///< In line, whose ticket it is; beyond the end a newcomer's.
  std::chrono::milliseconds age{};
  PingHealth health;
  Document document;  ///< Times in it count from the store's now: -1 h is an hour ago.
};

/// The sequence that `seed` stands for, on every machine.
std::vector<Step> steps_from(std::uint64_t seed, std::size_t count);

/// One line, for people.
std::string described(const Step& step);

}  // namespace distlock::testing
