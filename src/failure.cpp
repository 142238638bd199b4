#include "failure.h"

#include <exception>
#include <new>

namespace distlock {
namespace {

// Without its text, where there is no memory for that.
Failure described(const char* what, bool outcome_unknown, bool may_pass) noexcept {
  Failure failure{{}, outcome_unknown, may_pass};
  try {
    failure.what = what;
  } catch (const std::bad_alloc&) {
  }
  return failure;
}

}  // namespace

Failure current_failure() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return described(error.what(), error.errc() == Errc::outcome_unknown, may_pass(error));
  } catch (const std::exception& error) {
    return described(error.what(), true, true);
  } catch (...) {
    return described("an exception of an unknown type", true, true);
  }
}

}  // namespace distlock
