#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "distlock/record.h"

namespace distlock::cli {

/// The holder, as far as the hold says who it is.
struct Holder {
  std::string host;
  std::optional<std::int64_t> process_number;  ///< On that host.
  std::optional<std::string> user;
};

/// From `process` and `who`: `host:...` and `process:thread1/pid4711/ann:random`.
Holder holder_of(const LockRecord& lock);
/// The same of a waiter.
Holder holder_of(const Waiter& waiter);

}  // namespace distlock::cli
