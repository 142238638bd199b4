#pragma once

#include <cerrno>
#include <string>

#include "distlock/error.h"

namespace distlock {

/// Whether the store did not answer, or not surely, so that another attempt may fare better.
inline bool may_pass(const Error& error) {
  return error.errc() == Errc::not_applied || error.errc() == Errc::outcome_unknown ||
         error.errc() == Errc::store_replaced;
}

/// Whether a wait goes on. A store that was replaced never comes back to this handle.
inline bool may_wait_on(const Error& error) {
  return may_pass(error) && error.errc() != Errc::store_replaced;
}

/// The kind of failure of a system call on a path, from its errno. Where the path can be no file's,
/// waiting mends nothing.
inline Errc path_failure(int error) noexcept {
  if (error == EACCES || error == EPERM || error == EROFS) return Errc::permission_denied;
  const bool no_path = error == ENAMETOOLONG || error == ENOTDIR || error == ELOOP;
  return no_path ? Errc::invalid_argument : Errc::not_applied;
}

/// The failure of a system call in words. For want of descriptors it says how to mend that.
std::string system_failure(int error);

/// The facts about an exception where none may get through: in a destructor, an unlock, a thread.
struct Failure {
  std::string what;
  bool outcome_unknown = false;
  bool may_pass = false;  ///< Another attempt with the same store may fare better.
};

/// Of the exception that is being handled, whatever its type. Only in a handler.
Failure current_failure() noexcept;

}  // namespace distlock
