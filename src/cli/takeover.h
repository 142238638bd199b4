#pragma once

#include <chrono>

namespace distlock::cli {

/// Whether a contender could take a taken lock over by itself.
struct Takeover {
  enum class How {
    not_needed,      ///< The lock is free.
    now,             ///< Yes.
    later,           ///< After `in`, unless its holder pings.
    by_watching,     ///< Ping and "now" are of different clocks: after watching for `window`.
    never,           ///< There is no ping: only `distlock break` frees it (R7).
    clock_skew,      ///< The ping is later than now, or the store's clock is too far from this
                     ///< host's: no takeover, also when the window is over (R4, R5).
    malformed_ping,  ///< The holder's ping cannot be judged (R14).
  };
  How how = How::not_needed;
  std::chrono::milliseconds window{0};
  std::chrono::milliseconds in{0};
};

}  // namespace distlock::cli
