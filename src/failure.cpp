#include "failure.h"

#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

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
    return described(error.what(), error.errc() == Errc::outcome_unknown, may_wait_on(error));
  } catch (const std::exception& error) {
    return described(error.what(), true, true);
  } catch (...) {
    return described("an exception of an unknown type", true, true);
  }
}

std::string system_failure(int error) {
  std::string failure = std::generic_category().message(error);
  if (error != EMFILE) return failure;
  return failure + ": this process has too few file descriptors; raise the limit (ulimit -n)";
}

}  // namespace distlock
