#pragma once

#include <functional>
#include <optional>
#include <string>

#include "distlock/error.h"
#include "distlock/store.h"

namespace distlock::testing {

inline const Token kOurs = *token_from_hex("4d7f0000000000000000aa01");

/// A claim by "db7" that may be written until then.
inline Claim our_claim_until(const StoreNow& cutoff) {
  return {.process = "db7:1:1",
          .who = "db7:1:1:main:2",
          .why = "test",
          .ts = kOurs,
          .takeover_after = std::chrono::minutes{16},
          .cutoff = cutoff};
}

/// The same within `left` of the server's now.
inline Claim our_claim(Store& store, std::chrono::milliseconds left = std::chrono::minutes{1}) {
  Claim claim = our_claim_until(store.list().now);
  claim.cutoff.time += left;
  return claim;
}

/// The error code of a call that failed; nothing if it succeeded.
inline std::optional<Errc> failure_of(const std::function<void()>& call,
                                      std::string* message = nullptr) {
  try {
    call();
    return std::nullopt;
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.errc();
  }
}

}  // namespace distlock::testing
