#include "failure.h"

#include <exception>

namespace distlock {

Failure current_failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return {error.what(), error.errc() == Errc::outcome_unknown, may_pass(error)};
  } catch (const std::exception& error) {
    return {error.what(), true, true};
  } catch (...) {
    return {"an exception of an unknown type", true, true};
  }
}

}  // namespace distlock
