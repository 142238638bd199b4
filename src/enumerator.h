#pragma once

#include <string>
#include <type_traits>

#include "distlock/error.h"

namespace distlock {

/// Errors: `invalid_argument`, naming the option, if `value` is no enumerator of its type, of which
/// `last` is the last. A program may have cast it from a number.
template <class Enum>
void check_enumerator(const char* option, Enum value, Enum last) {
  const auto number = static_cast<std::underlying_type_t<Enum>>(value);
  if (number >= 0 && value <= last) return;
  throw Error(Errc::invalid_argument,
              std::string(option) + " is " + std::to_string(number) + ": no value of its type");
}

}  // namespace distlock
