#pragma once

#include <string>

namespace distlock {

/// What is known of an exception where none may get through: in a destructor, an unlock, a thread.
struct Failure {
  std::string what;
  bool outcome_unknown = false;
  /// The store did not answer, or not surely: another attempt may fare better.
  bool may_pass = false;
};

/// Of the exception that is being handled, whatever its type. Only in a handler.
Failure current_failure() noexcept;

}  // namespace distlock
