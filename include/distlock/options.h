#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "distlock/export.h"

namespace distlock {

/// When a contender may judge a silent holder dead (R6).
enum class TakeoverRule {
  by_ping_age,  ///< The store's clock says that the last ping is old enough.
  watched,      ///< The contender has itself seen nothing change for the whole window.
};

/// How a contender judges a taken lock whose holder has no ping (R7).
enum class MissingPing {
  refuse,            ///< As the original: an operator has to break it.
  expire_from_when,  ///< Count from the acquisition instead.
};

/// How lock() and its kin wait for a busy lock.
enum class WaitRule {
  in_line,  ///< In the order of arrival, woken by a bell (R17 to R20), where the store has lines.
  polling,  ///< By looking again and again (R15), in no order.
};

/// How sure unlock() is before it returns (R3).
enum class ReleaseRule {
  /// unlock() returns when the store says that the lock is free. A fail-over or a power failure
  /// right after that may undo the release. The pinger then frees the lock again; without a pinger,
  /// contenders wait for takeover_after. Two processes never hold one lock because of it.
  quick,
  /// unlock() waits until nothing can undo the release either: a majority has it in its journal, or
  /// it is on the disk.
  durable,
};

/// Whether a hold is passed on to another thread of the process that waits for the lock (R21).
enum class PassRule {
  in_process,  ///< Without a call of the store, some times in a row and for a short time.
  never,       ///< Each hold is released to the store.
};

/// The options of one lock.
struct DISTLOCK_EXPORT LockOptions {
  /// The window: for so long a holder must have been silent before a takeover. More than 0, at most
  /// 100 years. The default is the original's 15 minutes in its whole-minute comparison: 16:00.000.
  std::chrono::milliseconds takeover_after = std::chrono::minutes{16};

  /// How far the store's clock may be from this process's wall clock, and may be seen to step,
  /// before nothing is taken over (R5). Holders count on it, so it can only be made less than the
  /// default: 30 s, or a sixteenth of a shorter window. At 0 the clocks must agree.
  std::optional<std::chrono::milliseconds> max_clock_skew = {};

  TakeoverRule takeover_rule = TakeoverRule::by_ping_age;
  MissingPing missing_ping = MissingPing::refuse;

  /// The pause between two looks at a busy lock while waiting: drawn at random from a range that
  /// doubles from `poll_min` to `poll_max` (R15).
  std::chrono::milliseconds poll_min{20};
  std::chrono::milliseconds poll_max{1000};

  WaitRule wait_rule = WaitRule::in_line;
  ReleaseRule release_rule = ReleaseRule::quick;
  /// Needs WaitRule::in_line and ReleaseRule::quick.
  PassRule pass_rule = PassRule::in_process;

  /// A waiter in line looks by itself after about this time without a bell (R19): at random between
  /// half of it and one and a half times of it. More than 0, at most an hour.
  std::chrono::milliseconds recheck = std::chrono::seconds{3};

  /// After so long lock() without a limit looks whether its wait can end, then less and less often,
  /// once a minute in the end (R22). At most an hour; at 0 it never looks. Needs WaitRule::in_line.
  std::chrono::milliseconds deadlock_after = std::chrono::seconds{5};

  /// How long a wait goes on while the store fails at every look. milliseconds::max(): for ever.
  std::chrono::milliseconds store_patience = std::chrono::seconds{30};

  /// The least window for a holder whose document states none: the original's processes and
  /// MongoDB's own count on 15 minutes, also where this process's own holds are shorter (R6).
  std::chrono::milliseconds unstated_window{0};

  /// The purpose of the lock, kept in its record for people to read, where a call gives no other.
  std::string why = {};

  /// The original's constructor argument: `minutes` of silence, compared in whole minutes, so that
  /// 15 means "from 16:00.000 on". At least 1. Errors: `invalid_argument`.
  static LockOptions taking_over_after_minutes(int minutes);
};

/// The options of one process on one store.
struct DISTLOCK_EXPORT PingerOptions {
  /// The time between two pings. A process without a ping for its locks' takeover_after loses its
  /// locks. At most 2 days, half of the least forget_after: a lock that is claimed must find
  /// its process's ping.
  std::chrono::milliseconds ping_every = std::chrono::seconds{30};

  /// Pings of processes that hold nothing are removed when they are this old (R13). At least
  /// 4 days.
  std::chrono::milliseconds forget_after = std::chrono::days{4};

  /// The time between two such cleanups, jittered.
  std::chrono::milliseconds forget_every = std::chrono::hours{1};

  /// Pings so often that a holder has time for several before its deadline: an eighth of
  /// `takeover_after`, at least 1 ms, at most the default.
  static PingerOptions fitting(std::chrono::milliseconds takeover_after);
};

/// The processes that keep a SQLite holder's witness: the lock of the kernel that shows that it has
/// not ended (R23). Other stores have none.
enum class WitnessRule {
  /// The process, its children, and the programs that they execute, as with flock(1): what they do
  /// may be the holder's work. They get a descriptor of the file `-witness`.
  children,
  /// As `children`. A process keeps it, too, that has the hold's token as `DISTLOCK_TOKEN` in its
  /// environment, as all that a command of `distlock run` starts: it may have closed the
  /// descriptor. Contenders look for such processes once the witness has ended.
  command,
  /// The process alone: when it ends, others get its locks, even if its children go on.
  process,
  /// There is none, and those of others are not asked. A holder that ends is judged by its pings.
  none,
};

/// The use of a handle on a store.
enum class OpeningRule {
  /// Everything.
  to_lock,
  /// Looks, and what an operator does. The handle makes no SQLite file, and no set of a mirrored
  /// store. A mirrored store is opened whichever of its members cannot be: its calls say why.
  to_look,
};

/// The options of one store.
struct DISTLOCK_EXPORT StoreOptions {
  /// The longest that one call may take. More than 0, at most a day.
  std::chrono::milliseconds call_limit = std::chrono::seconds{10};

  /// Of a SQLite file.
  WitnessRule witness = WitnessRule::children;

  OpeningRule opening = OpeningRule::to_lock;

  /// So short that a call that hangs leaves time for another before a holder's deadline: an
  /// eighth of `takeover_after`, at least 1 ms, at most the default.
  static StoreOptions fitting(std::chrono::milliseconds takeover_after);
};

}  // namespace distlock
