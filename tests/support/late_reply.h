#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "support/faulty_store.h"

namespace distlock::testing {

/// Runs something between the effect of the next claim and its reply.
class LateReply : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    auto got = FaultyStore::claim(name, basis, claim);
    if (const auto action = std::exchange(after_claim, {})) action();
    return got;
  }

  std::function<void()> after_claim;
};

}  // namespace distlock::testing
