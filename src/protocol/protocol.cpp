#include "protocol/protocol.h"

#include <algorithm>

#include "call_limit.h"
#include "distlock/error.h"
#include "enumerator.h"
#include "in_milliseconds.h"
#include "saturating.h"
#include "text.h"
#include "turns.h"

namespace distlock::protocol {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::chrono::hours kHundredYears{24LL * 36525};
constexpr std::chrono::days kOtherClockMargin{1};
// Any process removes the ping of one that holds nothing when it is as old as that, or older.
constexpr std::chrono::days kForgetAfterLeast{4};
constexpr std::chrono::days kPingEveryMost = kForgetAfterLeast / 2;
constexpr milliseconds kDefaultMaxSkew = std::chrono::seconds{30};

[[noreturn]] void refuse(const std::string& what) { throw Error(Errc::invalid_argument, what); }

milliseconds default_max_skew(milliseconds window) {
  return std::min(kDefaultMaxSkew, window / 16);
}

/// How far the store's clock is from the wall clock at the least, given that it was read somewhere
/// within the span.
milliseconds wall_skew(StoreTime now, const LocalSpan& span) {
  const StoreTime earliest{span.wall_sent.time_since_epoch()};
  const StoreTime latest{span.wall_received.time_since_epoch()};
  if (now < earliest) return saturating_difference(earliest, now);
  if (now > latest) return saturating_difference(now, latest);
  return milliseconds{0};
}

/// Whether the age of the holder's last sign of life says nothing: its clock may be any time apart.
bool clock_is_unrelated(const Inspection& seen) {
  const auto& unrelated = seen.now->unrelated;
  if (!seen.ping) return !unrelated.empty();
  return std::any_of(unrelated.begin(), unrelated.end(), [&](const std::string& beginning) {
    return seen.ping->clock->starts_with(beginning);
  });
}

Judgement busy(Reason reason, milliseconds elapsed, milliseconds until_takeover = milliseconds{0}) {
  return {Verdict::busy, reason, elapsed, until_takeover, false};
}

/// R5, asked last: only a holder that would be dead otherwise is spared by it.
Judgement dead_unless_skewed(milliseconds elapsed, const StoreNow& now, const LocalSpan& span,
                             bool clock_stepped, milliseconds limit) {
  if (!now.steady) {
    const milliseconds skew = wall_skew(now.time, span);
    if (skew > limit) return busy(Reason::wall_clock_skew, skew);
  }
  if (clock_stepped) return busy(Reason::clock_stepped, elapsed);
  return {Verdict::dead, Reason::silent, elapsed, milliseconds{0}, elapsed > kHundredYears};
}

// A number that is no enumerator would choose some rule, and nobody knows which.
void check_rules(const LockOptions& options) {
  check_enumerator("takeover_rule", options.takeover_rule, TakeoverRule::watched);
  check_enumerator("missing_ping", options.missing_ping, MissingPing::expire_from_when);
  check_enumerator("wait_rule", options.wait_rule, WaitRule::polling);
  check_enumerator("release_rule", options.release_rule, ReleaseRule::durable);
  check_enumerator("pass_rule", options.pass_rule, PassRule::never);
}

}  // namespace

std::chrono::seconds unlock_pause(int attempt) { return std::chrono::seconds{1 << attempt}; }

void check_options(const LockOptions& options) {
  if (options.takeover_after <= milliseconds{0}) {
    refuse("takeover_after is " + in_milliseconds(options.takeover_after) +
           ": it must be more than 0");
  }
  if (options.takeover_after > kHundredYears) {
    refuse("takeover_after is more than 100 years: no holder can be that silent");
  }
  const milliseconds most = default_max_skew(options.takeover_after);
  const milliseconds skew = options.max_clock_skew.value_or(most);
  if (skew < milliseconds{0} || skew > most) {
    refuse("max_clock_skew is " + in_milliseconds(skew) + ": it must be from 0 to " +
           in_milliseconds(most) +
           ", the smaller of 30 s and a sixteenth of takeover_after; where clocks " +
           "are worse, use TakeoverRule::watched");
  }
  if (options.poll_min <= milliseconds{0} || options.poll_max < options.poll_min ||
      options.poll_max > kHundredYears) {
    refuse("poll_min must be more than 0 and at most poll_max, which is at most 100 years");
  }
  if (options.deadlock_after < milliseconds{0} || options.deadlock_after > std::chrono::hours{1}) {
    refuse("deadlock_after is " + in_milliseconds(options.deadlock_after) +
           ": it must be at least 0, which looks for none, and at most an hour");
  }
  if (options.recheck <= milliseconds{0} || options.recheck > std::chrono::hours{1}) {
    refuse("recheck is " + in_milliseconds(options.recheck) +
           ": it must be more than 0 and at most an hour");
  }
  if (options.store_patience < milliseconds{0}) refuse("store_patience must not be negative");
  if (options.unstated_window < milliseconds{0} || options.unstated_window > kHundredYears) {
    refuse("unstated_window must be from 0 to 100 years");
  }
  check_rules(options);
  check_why(options.why);
}

void check_options(const PingerOptions& options) {
  if (options.ping_every <= milliseconds{0}) refuse("ping_every must be more than 0");
  if (options.ping_every > kPingEveryMost) {
    refuse("ping_every is " + in_milliseconds(options.ping_every) + ": it must be at most " +
           in_milliseconds(kPingEveryMost) +
           " (2 days), half of the 4 days after which any process may " +
           "remove the ping of one that holds nothing");
  }
  if (options.forget_after < kForgetAfterLeast || options.forget_after > kHundredYears) {
    refuse("forget_after must be from 4 days to 100 years");
  }
  if (options.forget_every <= milliseconds{0} || options.forget_every > kHundredYears) {
    refuse("forget_every must be more than 0 and at most 100 years");
  }
}

nanoseconds room_for_pings(const PingerOptions& pinger, milliseconds call_limit) {
  return std::max(pinger.ping_every, call_limit) + 2 * call_limit;
}

void check_room(const LockOptions& lock, const PingerOptions& pinger, milliseconds call_limit) {
  check_call_limit(call_limit);
  const nanoseconds left = validity(lock, call_limit);
  const nanoseconds needed = room_for_pings(pinger, call_limit);
  if (left >= needed) return;
  const auto whole = [](nanoseconds duration) { return duration_cast<milliseconds>(duration); };
  const std::string longer = pinger.ping_every < call_limit
                                 ? "3 x call_limit " + in_milliseconds(call_limit)
                                 : "ping_every " + in_milliseconds(pinger.ping_every) +
                                       " + 2 x call_limit " + in_milliseconds(call_limit);
  refuse("takeover_after leaves a holder too little time: takeover_after " +
         in_milliseconds(lock.takeover_after) + " - allowance " +
         in_milliseconds(whole(allowance(lock, call_limit))) + " = " +
         in_milliseconds(whole(left)) + ", but " + longer + " = " + in_milliseconds(whole(needed)) +
         "; take over later, ping more often or lower call_limit");
}

milliseconds max_clock_skew(milliseconds window, const LockOptions& options) {
  const milliseconds most = default_max_skew(window);
  return std::min(options.max_clock_skew.value_or(most), most);
}

nanoseconds allowance(const LockOptions& options, milliseconds call_limit) {
  return 2 * default_max_skew(options.takeover_after) + call_limit +
         nanoseconds{options.takeover_after} / 1000;
}

nanoseconds validity(const LockOptions& options, milliseconds call_limit) {
  return options.takeover_after - allowance(options, call_limit);
}

milliseconds settled_after(const LockOptions& options, milliseconds call_limit) {
  return 3 * call_limit + 2 * default_max_skew(options.takeover_after);
}

bool must_ping_before_claim(std::optional<SteadyTime> last_ping_sent, SteadyTime now,
                            nanoseconds validity, const PingerOptions& pinger) {
  if (!last_ping_sent) return true;
  const nanoseconds age = now - *last_ping_sent;
  // Another process may have removed one that is older than kForgetAfterLeast.
  return age > std::min({nanoseconds{2 * pinger.ping_every}, validity / 2,
                         nanoseconds{kForgetAfterLeast} / 2});
}

nanoseconds HolderWatch::unchanged_for(const Inspection& seen, const LocalSpan& span) {
  // All holds of MongoDB's own lock manager may have one `ts` (R2).
  Sighting sighting{seen.lock->ts, seen.lock->when, std::nullopt, std::nullopt};
  if (seen.ping) {
    sighting.ping = seen.ping->ping;
    sighting.clock = seen.ping->clock;
  }
  if (sighting != sighting_) {
    sighting_ = std::move(sighting);
    first_seen_ = span.received;
  }
  return std::max<nanoseconds>(span.sent - first_seen_, nanoseconds{0});
}

milliseconds window(const LockRecord& lock, const LockOptions& options) {
  return std::max(options.takeover_after, lock.takeover_after.value_or(options.unstated_window));
}

Judgement judge(const Inspection& seen, const LocalSpan& span, bool clock_stepped,
                const LockOptions& options, HolderWatch& watch) {
  if (!seen.lock) return {Verdict::absent};
  if (!seen.lock->taken()) {
    // A contender that asks by this is not in line, and so the last.
    const bool our_turn =
        line::may_claim(Token{}, seen.lock->line, seen.lock->freed_at, seen.now->time);
    return {our_turn ? Verdict::free : Verdict::busy,
            our_turn ? Reason::none : Reason::others_turn};
  }
  const auto watched = duration_cast<milliseconds>(watch.unchanged_for(seen, span));
  const milliseconds needed = window(*seen.lock, options);
  const bool counts = seen.fence_of_lost == 0 || seen.lock->fence > seen.fence_of_lost;
  if (!counts || seen.over) return {Verdict::dead, Reason::not_counted};
  const bool refuses = !seen.ping && options.missing_ping == MissingPing::refuse;
  if (refuses) return busy(Reason::ping_missing, milliseconds{0});
  if (seen.ping && seen.ping->ended) return {Verdict::dead, Reason::ended};
  if (options.takeover_rule == TakeoverRule::watched) {
    if (watched >= needed) return {Verdict::dead, Reason::silent, watched};
    return busy(Reason::not_watched, watched, needed - watched);
  }
  // Nobody wrote down which clock stamped `when` (R4).
  const StoreTime last_sign = seen.ping ? seen.ping->ping : *seen.lock->when;
  const bool other_clock = !seen.ping || (seen.ping->clock && *seen.ping->clock != seen.now->clock);
  const milliseconds age = saturating_difference(seen.now->time, last_sign);
  if (other_clock) {
    const bool too_young = age < saturating_sum(needed, kOtherClockMargin);
    if (watched < needed && (too_young || clock_is_unrelated(seen))) {
      return busy(Reason::other_clock, watched, needed - watched);
    }
  } else if (age < milliseconds{0}) {
    return busy(Reason::ping_in_future, age == milliseconds::min() ? milliseconds::max() : -age);
  } else if (age < needed) {
    return busy(Reason::pinged_recently, age, needed - age);
  }
  return dead_unless_skewed(std::max(age, watched), *seen.now, span, clock_stepped,
                            max_clock_skew(needed, options));
}

std::optional<LossReason> fate(std::string_view name, const Token& ts,
                               const std::optional<Carried>& carried) {
  if (!carried) return LossReason::document_gone;
  const bool taken = carried->state && *carried->state != LockState::free;
  if (carried->ts != ts) {
    return carried->ts && taken ? LossReason::taken_over : LossReason::replaced;
  }
  if (!carried->state) {
    throw Error(Errc::bad_record, "locks document \"" + escaped(name) +
                                      "\": field \"state\" is malformed, so it cannot be told "
                                      "whether the hold is still there; nothing was changed");
  }
  return taken ? std::nullopt : std::optional(LossReason::freed);
}

nanoseconds poll_pause(int round, std::uint64_t random, milliseconds until_takeover,
                       const LockOptions& options) {
  nanoseconds most = options.poll_min;
  for (int i = 0; i < round && most < options.poll_max; ++i) most *= 2;
  most = std::min<nanoseconds>(most, options.poll_max);
  const auto half = static_cast<std::uint64_t>(most.count() / 2);
  const nanoseconds pause = most - nanoseconds{static_cast<std::int64_t>(random % (half + 1))};
  // A date in a document may put it centuries away, which nanoseconds cannot hold.
  const bool soon = until_takeover > milliseconds{0} && until_takeover < options.poll_max;
  if (!soon || pause <= until_takeover) return pause;
  const auto spread = static_cast<std::uint64_t>(nanoseconds{options.poll_min}.count());
  return until_takeover + nanoseconds{static_cast<std::int64_t>(random % (spread + 1))};
}

nanoseconds ping_retry_pause(const PingerOptions& options) {
  return nanoseconds{options.ping_every} / 4;
}

nanoseconds forget_pause(std::uint64_t random, const PingerOptions& options) {
  const nanoseconds every = options.forget_every;
  const auto jitter = random % static_cast<std::uint64_t>(every.count());
  return every / 2 + nanoseconds{static_cast<std::int64_t>(jitter)};
}

milliseconds late_by(std::optional<SteadyTime> last_ping_sent, SteadyTime now,
                     const PingerOptions& options) {
  if (!last_ping_sent) return milliseconds{0};
  const nanoseconds late = now - *last_ping_sent - nanoseconds{options.ping_every};
  return std::max(duration_cast<milliseconds>(late), milliseconds{0});
}

bool ping_is_late(SteadyTime last_ping_sent, SteadyTime now, const PingerOptions& options) {
  return now - last_ping_sent > 10 * nanoseconds{options.ping_every};
}

}  // namespace distlock::protocol
