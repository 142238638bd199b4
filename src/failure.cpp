#include "failure.h"

#include <exception>

#include "distlock/error.h"

namespace distlock {

Failure current_failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    const bool unknown = error.errc() == Errc::outcome_unknown;
    return {error.what(), unknown, unknown || error.errc() == Errc::not_applied};
  } catch (const std::exception& error) {
    return {error.what(), true, true};
  } catch (...) {
    return {"an exception of an unknown type", true, true};
  }
}

}  // namespace distlock
