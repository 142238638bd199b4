#pragma once

#include "distlock/error.h"

namespace distlock::cli {

// Exit statuses are an interface: scripts branch on them. Values from sysexits.h where one fits,
// those of flock(1) and env(1) otherwise; docs/cli.md lists them for users.
inline constexpr int kSuccess = 0;
inline constexpr int kBusy = 1;         ///< Held by another, or the hold has changed.
inline constexpr int kUsage = 64;       ///< EX_USAGE
inline constexpr int kMalformed = 65;   ///< EX_DATAERR: a document, or the file.
inline constexpr int kStoreAway = 69;   ///< EX_UNAVAILABLE
inline constexpr int kInternal = 70;    ///< EX_SOFTWARE
inline constexpr int kOutput = 74;      ///< EX_IOERR: standard output could not be written.
inline constexpr int kLockLost = 75;    ///< EX_TEMPFAIL
inline constexpr int kPermission = 77;  ///< EX_NOPERM
inline constexpr int kNotExecutable = 126;
inline constexpr int kNotFound = 127;
inline constexpr int kSignalled = 128;  ///< Plus the number of the signal.

/// The exit status of the tool when the library throws `code`.
int exit_status_of(Errc code);

}  // namespace distlock::cli
