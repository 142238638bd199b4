#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/export.h"
#include "distlock/options.h"
#include "distlock/record.h"
#include "distlock/store.h"

namespace distlock {

/// The answer to a call from a place in line.
struct Standing {
  std::optional<LockRecord> hold;  ///< Granted: the lock is held, and the place is given up.
  bool in_line = false;            ///< The place is kept. False: the line is full.
  bool free = false;               ///< The lock is free, and it is not this ticket's turn yet.
  bool holder_ended = false;       ///< PingRecord::ended of the holder: a look is worth it.
  /// The lock's `ts` when the place was kept, where the store rings for the end of a holder (R23).
  /// A waiter that sees another hold asks again.
  std::optional<Token> attends = {};
};

/// The result of a release, and which processes are next. Process ids.
struct Freed {
  ReleaseResult result = ReleaseResult::not_ours;
  /// They may claim at once: the first in line, and those that were passed over. Each once, in the
  /// order of their places.
  std::vector<std::string> next;
  std::string then;  ///< Whose turn comes after the first one's; empty: nobody waits behind it.
  std::chrono::milliseconds then_in{100};  ///< Its turn comes so long after the release.
};

/// The lines of the waiters in a store, and its bell (R17 to R20). A part of the store's port, for
/// stores that have lines; everything that is decided about places and turns is in src/turns.h.
///
/// The line decides who asks first and the bell when. Neither grants anything: a hold comes from
/// the compare-and-set of a claim alone (R18).
///
/// Errors: as Store. Threads: all functions may be called concurrently.
class DISTLOCK_EXPORT Line {
 public:
  virtual ~Line() = default;

  /// Stands in line for lock `name`, with `claim.ts` as the ticket, at the end or where the ticket
  /// already stands; and claims from there at once, in the same write, if the lock is free and it
  /// is this ticket's turn. May be repeated: a call that already holds with that `ts` gets the
  /// hold. A claim that passes waiters over marks them (Waiter::passed_over). A marked ticket that
  /// is refused loses its mark. Errors: also `bad_record`, where the lock's fence leaves no room
  /// for those of the claim; perhaps the ticket has its place then. A malformed document is
  /// `bad_record` too, and is left as it is (R14).
  virtual Standing stand(std::string_view name, const Claim& claim) = 0;

  /// Gives the place up, if there is one. May be repeated.
  virtual void leave(std::string_view name, const Token& ticket) = 0;

  /// As Store::release(), and says which processes are next. With ReleaseRule::quick a fail-over or
  /// a power failure may undo the release until a later durable write of this process is confirmed.
  virtual Freed release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) = 0;

  /// Rings the bell of `processes` for lock `name`. A ring may get lost, and costs nobody more than
  /// the time until the next look (R19).
  virtual void ring(std::string_view name, const std::vector<std::string>& processes) = 0;

  /// For looks at waits that can never end (R22): the locks with a line, and those of `names`; the
  /// locks that the processes in these lines hold, if they took them since the first of them came;
  /// and the pings of these processes. Each once, as in Store::list(), in any order. It need not
  /// all be of one moment: the lines are read first, and the pings last.
  virtual Listing list_waits(const std::vector<std::string>& names) = 0;

  /// Calls `rung` with the name of each lock that `process` is rung for and stands in line for, as
  /// long as the result lives; it may name others too. Where another thread is about to call it at
  /// the result's end, it may be called once more. `rung` runs on a thread of the store's or of
  /// whoever rings; it must not block, throw or call the store.
  using Rung = std::function<void(std::string_view name)>;
  virtual std::shared_ptr<void> listen(std::string_view process, Rung rung) = 0;
};

}  // namespace distlock
