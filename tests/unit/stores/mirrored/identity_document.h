#pragma once

#include <chrono>
#include <string>

#include "distlock/store.h"
#include "identity_name.h"

namespace distlock::testing {

/// The document that such a claim leaves on a member, an hour after the clock began.
inline LockRecord document_of(const Claim& claim) {
  LockRecord document{.name = std::string(kIdentityName),
                      .state = LockState::taken,
                      .process = claim.process,
                      .who = claim.who,
                      .why = claim.why,
                      .when = StoreTime{std::chrono::hours{1}},
                      .ts = claim.ts};
  document.fence = 1;
  document.takeover_after = claim.takeover_after;
  return document;
}

}  // namespace distlock::testing
