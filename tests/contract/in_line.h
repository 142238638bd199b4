#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "contract/contract.h"
#include "distlock/line.h"

// Waiters of a store, for the contract of lines.
namespace distlock::testing {

inline Line& line_of(Store& store) {
  REQUIRE(store.line() != nullptr);
  return *store.line();
}

inline std::vector<std::string> standing(Store& store, std::string_view name) {
  std::vector<std::string> processes;
  const auto lock = store.inspect(name, Freshness::fresh).lock;
  REQUIRE(lock);
  for (const Waiter& waiter : lock->line) processes.push_back(waiter.process);
  return processes;
}

using Processes = std::vector<std::string>;

// The lock is held by "holder", and these stand in line.
inline std::vector<Claim> line_up(Store& store, const Processes& processes) {
  std::vector<Claim> claims;
  for (const std::string& process : processes) {
    claims.push_back(claim_by(store, process));
    const Standing standing = line_of(store).stand("jobs", claims.back());
    REQUIRE_FALSE(standing.hold);
    REQUIRE(standing.in_line);
  }
  return claims;
}

// By a writer that comes later by the store's clock.
inline void wait_for_next_millisecond(Store& store) {
  const StoreTime now = store.list().now.time;
  while (store.list().now.time <= now) {
  }
}

}  // namespace distlock::testing
