#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "distlock/connection_string.h"

namespace distlock::testing {

/// One hold that ran out, on one clock (CLOCK_BOOTTIME).
struct Expiry {
  std::chrono::nanoseconds deadline;   ///< As its holder was told.
  std::chrono::nanoseconds announced;  ///< When on_lost() was called.
  std::chrono::nanoseconds claimed;    ///< When the rival sent the claim that was granted.

  std::chrono::nanoseconds ahead() const { return claimed - announced; }
  bool inverted() const { return announced >= claimed; }
};

/// The options that decide when a hold runs out. The allowance is an eighth of the first and all of
/// the second. A machine that stands still for longer than it delays an announcement beyond the
/// rival's claim.
struct Lease {
  std::chrono::milliseconds takeover_after;  ///< The shortest; others have up to a second more.
  std::chrono::milliseconds call_limit;
};

constexpr Lease kShortLease{std::chrono::milliseconds{1500}, std::chrono::milliseconds{200}};
constexpr Lease kLongLease{std::chrono::milliseconds{4500}, std::chrono::milliseconds{900}};

/// Lets `count` holds run out, `at_once` of them together: holders whose pings are refused from
/// some moment on, and for each lock a rival that waits for it, with a store of its own.
std::vector<Expiry> observe_expiries(const ConnectionString& connection, const Lease& lease,
                                     int count, int at_once);

/// For a message, and for docs/benchmarks.md: a row of a markdown table.
std::string to_row(const std::string& label, std::vector<Expiry> expiries);

int inversions(const std::vector<Expiry>& expiries);

}  // namespace distlock::testing
