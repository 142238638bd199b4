#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "distlock/clock.h"
#include "distlock/loss.h"
#include "distlock/options.h"
#include "distlock/record.h"
#include "distlock/store.h"
#include "local_span.h"

// Every decision of the protocol, as pure functions: no I/O, no clock that ticks, no log. Rule
// numbers are those of docs/protocol.md. The shell (src/lock/, src/pinger/) asks here and does what
// it is told.
namespace distlock::protocol {

/// So many threads of a process one claim serves at most, and for so long it is passed on (R21).
inline constexpr Fence kHoldersOfAClaimMost = 64;
inline constexpr std::chrono::milliseconds kPassingMost{50};

/// Three attempts to unlock, as the original's (R11).
inline constexpr int kUnlockAttemptsMax = 3;
/// The original's `1 << attempt` seconds: 2 s after the first, 4 s after the second.
std::chrono::seconds unlock_pause(int attempt);

/// How far a claim may be thrown back by others' claims before lock_try() gives up.
inline constexpr int kClaimRoundsMax = 3;

/// Errors: `invalid_argument`, naming what is wrong and what to do.
void check_name(std::string_view name);
void check_process(std::string_view process);
void check_label(std::string_view label);
void check_why(std::string_view why);
inline constexpr std::size_t kWhyBytesMax = 10000;
void check_options(const LockOptions& options);
void check_options(const PingerOptions& options);
/// The time from the sending of one ping to the confirmation of the next, where every call takes
/// its whole limit (R12). Between the sendings lies the interval, or a ping and one call of a chore
/// if these are longer. Where the interval is long, one call is to spare.
std::chrono::nanoseconds room_for_pings(const PingerOptions& pinger,
                                        std::chrono::milliseconds call_limit);
/// Whether a holder has that time before its deadline; the message does the sum (R9).
void check_room(const LockOptions& lock, const PingerOptions& pinger,
                std::chrono::milliseconds call_limit);

/// Why the hold of `ts` is no more where the lock's document carries this, or nothing if it still
/// is there (R9). Another `ts` is an answer whatever else the document says. Errors: `bad_record`
/// if the document carries `ts` and cannot say whether it is taken.
std::optional<LossReason> fate(std::string_view name, const Token& ts,
                               const std::optional<Carried>& carried);

/// The window that counts for this lock: the larger of the contender's and the holder's, or of
/// `unstated_window` where the document states none (R6).
std::chrono::milliseconds window(const LockRecord& lock, const LockOptions& options);

/// The skew of the store's clock that a contender tolerates before a takeover after `window` (R5).
/// Options can only make it less, so that no holder need know them.
std::chrono::milliseconds max_clock_skew(std::chrono::milliseconds window,
                                         const LockOptions& options);

/// The distance between a deadline and the earliest takeover (R9). Twice the largest skew that any
/// contender tolerates: the clock may have been that far behind at the ping, and that far ahead at
/// the judgement. One call: a ping that got stuck in the store may overwrite a later one. A
/// thousandth of the window: clocks run at different rates.
std::chrono::nanoseconds allowance(const LockOptions& options,
                                   std::chrono::milliseconds call_limit);

/// How long after it was sent a confirmed ping keeps a hold valid (R9).
std::chrono::nanoseconds validity(const LockOptions& options, std::chrono::milliseconds call_limit);

/// How long after it was sent a claim of unknown outcome may still arrive (R8). Its cutoff is one
/// call after the latest that the store's clock can say; that clock may fall from as far ahead as
/// any contender lets pass to as far behind; and what began in time may take another call or two.
std::chrono::milliseconds settled_after(const LockOptions& options,
                                        std::chrono::milliseconds call_limit);

/// Whether a process must ping before it claims: contenders look at the ping alone, so a claim on
/// top of an old one would be born half dead (R7, R9).
bool must_ping_before_claim(std::optional<SteadyTime> last_ping_sent, SteadyTime now,
                            std::chrono::nanoseconds validity, const PingerOptions& pinger);

/// The memory that one contender has of one holder: since when it has seen nothing change (R6).
class HolderWatch {
 public:
  /// Notes what an inspection showed of a taken lock, and says for how long exactly that has been
  /// seen: the least that it can be, by this process's steady clock.
  std::chrono::nanoseconds unchanged_for(const Inspection& seen, const LocalSpan& span);

 private:
  struct Sighting {
    std::optional<Token> ts;
    std::optional<StoreTime> when;
    std::optional<StoreTime> ping;
    std::optional<std::string> clock;
    friend bool operator==(const Sighting&, const Sighting&) = default;
  };
  std::optional<Sighting> sighting_;
  SteadyTime first_seen_;
};

enum class Verdict { absent, free, busy, dead };

/// Why a taken lock is as it was judged. Each has its log event.
enum class Reason {
  none,
  others_turn,      ///< Free, and those in line come first (R17).
  pinged_recently,  ///< The original's "lock failed because taken by".
  ping_missing,     ///< R7
  ping_in_future,   ///< R4: clock skew, as in the original.
  other_clock,      ///< R4, R6: not watched for long enough.
  not_watched,      ///< TakeoverRule::watched, not watched for long enough.
  wall_clock_skew,  ///< R5
  clock_stepped,    ///< R5
  silent,           ///< Dead: may be taken over.
  ended,            ///< R23: the kernel says so.
  not_counted,      ///< M4, M6: no majority can carry it, or none counts it.
};

struct Judgement {
  Verdict verdict = Verdict::busy;
  Reason reason = Reason::none;
  /// How long the holder has been silent; for a skew, how large it is.
  std::chrono::milliseconds elapsed{0};
  /// When to look again for a takeover, if that can be foretold; 0 if not.
  std::chrono::milliseconds until_takeover{0};
  /// The original's warning: more than 100 years. Judged all the same.
  bool impossible = false;
};

/// Judges what an inspection showed (R5 to R7). `clock_stepped`: the store's clock was seen to step
/// within the window. Everything saturates: no date in a document overflows.
Judgement judge(const Inspection& seen, const LocalSpan& span, bool clock_stepped,
                const LockOptions& options, HolderWatch& watch);

/// How long to wait before the next look at a busy lock: drawn by `random` from the upper half of a
/// range that doubles with every round, cut short where a takeover can be foretold (R15).
std::chrono::nanoseconds poll_pause(int round, std::uint64_t random,
                                    std::chrono::milliseconds until_takeover,
                                    const LockOptions& options);

/// How long to wait after a failed ping: a quarter of the interval, so that a holder has more than
/// one chance to be heard in each (R12).
std::chrono::nanoseconds ping_retry_pause(const PingerOptions& options);

/// How long until old pings are looked for again: half to one and a half times the interval, so
/// that processes do not come all at once.
std::chrono::nanoseconds forget_pause(std::uint64_t random, const PingerOptions& options);

/// The chores of a ping round that may call the store (R12), and those of a mirrored store alone.
inline constexpr int kChores = 3;
inline constexpr int kChoresOfMembers = 2;

/// How many confirmed pings tell that a process has looked at a hold. The hold was freed behind its
/// back before the first of them. Where calls take long, a round makes one, for one of n chores,
/// and the next round goes on with the next chore. So n rounds come to the list of the holds, and n
/// more to a look at the one that is missing. The next ping tells it. Other missing holds cost
/// more.
constexpr int pings_until_noticed(bool on_mirrored_store) {
  return 2 * (kChores + (on_mirrored_store ? kChoresOfMembers : 0)) + 1;
}

/// A step of the store's clock that a holder is warned of (R5).
inline constexpr std::chrono::seconds kStepWorthAWarning{30};

/// How much later than due a ping is that is sent now.
std::chrono::milliseconds late_by(std::optional<SteadyTime> last_ping_sent, SteadyTime now,
                                  const PingerOptions& options);

/// Whether the pinger has been silent for so long that it must be said (R12).
bool ping_is_late(SteadyTime last_ping_sent, SteadyTime now, const PingerOptions& options);

}  // namespace distlock::protocol
