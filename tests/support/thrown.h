#pragma once

#include <optional>

#include "distlock/error.h"

namespace distlock::testing {

/// The code of the Error that the call throws; nothing if it throws none.
template <class Call>
std::optional<Errc> thrown_by(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const Error& error) {
    return error.errc();
  }
  return std::nullopt;
}

}  // namespace distlock::testing
