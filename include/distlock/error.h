#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

#include "distlock/export.h"

namespace distlock {

/// Why a call failed. A lock held by somebody else is not a failure: it is a value.
///
/// The split that matters to callers is between `outcome_unknown` and everything else. After
/// `outcome_unknown` the write may or may not have happened. After any other code the request that
/// failed has certainly changed nothing. After `not_applied` no request of the call has. But a wait
/// may have left a place in line then, which the pinger gives up.
enum class Errc {
  not_applied = 1,    ///< Rejected or never sent: the store is unchanged. May be repeated.
  outcome_unknown,    ///< Sent, no sure answer: the store may have changed (R8).
  bad_record,         ///< A stored document does not have the documented shape (R14).
  invalid_argument,   ///< A name, option or connection string that cannot be used.
  permission_denied,  ///< The store refused this user, or the file system this process.
  already_held,       ///< lock_try() by the thread that holds this object's lock already.
  lock_lost,          ///< The hold is past its deadline or no longer ours (R9).
  forked,             ///< In a forked child: a handle of the parent's, or no new store (R16).
  stopped,            ///< The pinger was stopped: nothing would keep a hold alive (R12).
  deadlock,           ///< A wait that can never end; what() shows the cycle (R22).
  store_replaced,     ///< File or mirrored set (M6) replaced or gone, or closed: open it anew.
};

DISTLOCK_EXPORT const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

/// The only exception type that this library throws on its own account. `code()` is for programs,
/// `what()` for people: it names the operation and the lock, never a password, and repeats of the
/// code's words only that an outcome is unknown.
class DISTLOCK_EXPORT Error : public std::system_error {
 public:
  Error(Errc code, const std::string& what)
      : std::system_error(make_error_code(code)),
        text_(code == Errc::outcome_unknown ? what + ": " + this->code().message() : what) {}

  Errc errc() const noexcept { return static_cast<Errc>(code().value()); }

  const char* what() const noexcept override { return text_.what(); }

 private:
  std::runtime_error text_;  // For its copies, which cannot fail.
};

}  // namespace distlock

template <>
struct std::is_error_code_enum<distlock::Errc> : std::true_type {};
