#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <functional>

#include "clock_name.h"
#include "distlock/members.h"
#include "failure.h"
#include "log.h"
#include "pinger/session.h"

// A ping round: the ping first, then what can wait and what may fail. And a round of rings.
namespace distlock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Guard = boost::lock_guard<boost::mutex>;

milliseconds whole_ms(nanoseconds duration) {
  return std::chrono::duration_cast<milliseconds>(duration);
}

}  // namespace

SteadyTime Session::round() noexcept {
  const log::OfStore of_store(*environment.store);
  if (stopped_) return SteadyTime::max();
  const SteadyTime begun = environment.clock->steady_now();
  log_losses();
  const bool pinged = ping_noting_failure();
  first_ping_done_.request_stop();  // A claim waits for no chore.
  if (!pinged) {
    const SteadyTime again = environment.clock->steady_now() + protocol::ping_retry_pause(options);
    if (some_member_confirmed(begun)) chores.work_off(begun, again, stopping.get_token());
    return again;
  }
  const SteadyTime next = begun + options.ping_every;
  chores.work_off(begun, next, stopping.get_token());
  log_losses();
  // The end of a bell may take a call, which must not hold up a ping.
  if (lobby.quiet(environment.clock->steady_now())) ringer.wake();
  return next;
}

bool Session::ping_noting_failure() noexcept {
  try {
    ping();
    return true;
  } catch (...) {
    note_bad_ping(current_failure().what);
    return false;
  }
}

void Session::ping() {
  Clock& clock = *environment.clock;
  const SteadyTime begun = clock.steady_now();
  const PingHealth health = health_at(begun);
  const auto [record, span] = timed(clock, [&] {
    try {
      return environment.store->ping(environment.process, health);
    } catch (...) {
      extend_by_members(begun);
      throw;
    }
  });
  const bool stepped = note_good_ping(record, span);
  if (environment.store->members() != nullptr) return;  // extend_by_members() has told of theirs.
  if (stepped) log::store_clock_stepped(record.clock.value_or(""));
}

void Session::ping_unless_stopped(const Limit& limit) {
  check_usable();
  ping();
  const Clock& clock = *environment.clock;
  if (limit.over(clock)) return;
  Chores::attempt("freeing what is pending", [&] {
    const EitherStop stop(stopping.get_token(), limit.stop);
    ChoreTime time(clock, environment.store->call_limit(), {limit.deadline, stop.token()});
    pending.work_off(environment, ringer, time);
  });
}

void Session::ping_if_short(const Hold& granted, const Limit& limit) noexcept {
  const Clock& clock = *environment.clock;
  const SteadyTime now = clock.steady_now();
  const SteadyTime until = granted.validity.until();
  const bool is_short = until > now && until - now < granted.validity_span / 2;
  const bool over = limit.over(clock) || stopping.stop_requested();
  if (environment.store->members() == nullptr || !is_short || over) return;
  Chores::attempt("moving a deadline on", [&] { ping(); });
}

// As it will be if this ping succeeds.
PingHealth Session::health_at(SteadyTime now) const {
  const Guard lock(mutex_);
  PingHealth health = health_;
  ++health.successes;
  health.late_by = protocol::late_by(last_ping_sent_, now, options);
  return health;
}

// Says whether the store's clock was seen to step.
bool Session::note_good_ping(const PingRecord& record, const LocalSpan& span) {
  nanoseconds silence{0};
  bool recovered = false;
  bool every_tenth = false;
  bool stepped = false;
  {
    const Guard lock(mutex_);
    const SteadyTime last = last_ping_sent_.value_or(started_);
    silence = span.sent - last;
    recovered = std::exchange(late_, false) || protocol::ping_is_late(last, span.sent, options);
    every_tenth = health_.successes % 10 == 0;
    // First: it takes memory, and whoever sees a ping asks what time it told.
    const std::string clock = record.clock.value_or("");
    history_.note({record.ping, clock}, span);
    ++health_.successes;
    health_.round_trip = whole_ms(span.received - span.sent);
    health_.late_by = protocol::late_by(last_ping_sent_, span.sent, options);
    last_ping_sent_ = std::max(span.sent, last_ping_sent_.value_or(span.sent));
    stepped = history_.stepped(clock, span.received, 4 * nanoseconds{options.ping_every},
                               protocol::kStepWorthAWarning);
  }
  extend_holds(span, span.sent);
  if (recovered) log::ping_recovered(environment.process, whole_ms(silence));
  log::pinged(environment.process, every_tenth);
  return stepped;
}

// Since when a majority of these members has a ping: the others may have been away until now. A
// member that confirms none is not pinged by each claim.
std::optional<SteadyTime> Session::last_ping_for(const std::vector<MemberBasis>& bases) const {
  std::vector<SteadyTime> sent;
  for (const MemberPing& ping : environment.store->members()->pings(environment.process)) {
    const bool is_asked = std::any_of(bases.begin(), bases.end(), [&](const MemberBasis& one) {
      return one.member == ping.member;
    });
    if (ping.counts && is_asked) sent.push_back(ping.sent);
  }
  const std::size_t majority = environment.store->members()->majority();
  if (sent.size() < majority) {
    const Guard lock(mutex_);
    const bool just_now = last_ping_sent_ && environment.clock->steady_now() - *last_ping_sent_ <
                                                 environment.store->call_limit() / 8;
    return just_now ? last_ping_sent_ : std::nullopt;
  }
  std::sort(sent.begin(), sent.end(), std::greater<>());
  return sent[majority - 1];
}

void Session::extend_holds(const LocalSpan& span, SteadyTime begun) {
  if (environment.store->members() != nullptr) return extend_by_members(begun);
  holds.extend(span.sent, span.received);
}

// Each ping that a member has confirmed counts (M5), also where too few have confirmed this one.
void Session::extend_by_members(SteadyTime begun) {
  Members* const members = environment.store->members();
  if (members == nullptr) return;
  std::vector<MemberPing> pings = members->pings(environment.process);
  holds.forget_members(pings);
  std::erase_if(pings, [](const MemberPing& ping) { return !ping.counts; });
  const auto stepped = stepped_clocks(pings, begun);
  holds.extend(pings, environment.clock->steady_now());
  for (const std::string& clock : stepped) log::store_clock_stepped(clock);
}

// Those of the members that have confirmed a ping since then.
std::vector<std::string> Session::stepped_clocks(const std::vector<MemberPing>& pings,
                                                 SteadyTime begun) {
  std::vector<std::string> stepped;
  const Guard lock(mutex_);
  for (const MemberPing& ping : pings) {
    note_member(ping.member, ping.stamped, {ping.sent, ping.received});
    const bool steps =
        member_histories_.find(ping.member)
            ->second.stepped(ping.stamped.clock, ping.received, 4 * nanoseconds{options.ping_every},
                             protocol::kStepWorthAWarning);
    if (steps && ping.sent >= begun) stepped.push_back(clock_name(ping.member, ping.stamped.clock));
  }
  return stepped;
}

// Such a ping moves deadlines. So the round looks which members carry each hold (M5), as others do.
bool Session::some_member_confirmed(SteadyTime since) noexcept {
  bool confirmed = false;
  Chores::attempt("looking which members confirmed a ping", [&] {
    Members* const members = environment.store->members();
    if (members == nullptr) return;
    const std::vector<MemberPing> pings = members->pings(environment.process);
    confirmed = std::any_of(pings.begin(), pings.end(),
                            [&](const MemberPing& ping) { return ping.sent >= since; });
  });
  return confirmed;
}

void Session::note_bad_ping(std::string_view error) {
  log::ping_failed(environment.process, error);
  const SteadyTime now = environment.clock->steady_now();
  nanoseconds silence{0};
  {
    const Guard lock(mutex_);
    ++health_.failures;
    const SteadyTime last = last_ping_sent_.value_or(started_);
    if (late_ || !protocol::ping_is_late(last, now, options)) return;
    late_ = true;
    silence = now - last;
  }
  log::ping_late(environment.process, whole_ms(silence));
}

void Session::log_losses() {
  for (const auto& [name, reason] : holds.take_unlogged()) log::lost(name, reason);
  if (holds.announcer().take_shortage()) log::no_thread_to_announce(environment.process);
}

// One place a round, so that a line of them delays no ring for longer than a call.
Ringer::Due Session::ring_round() noexcept {
  const log::OfStore of_store(*environment.store);
  Ringer::Due due = ringer.round({SteadyTime::max(), stopping.get_token()});
  Chores::attempt("giving a place up", [&] {
    ChoreTime time(*environment.clock, SteadyTime::max(), stopping.get_token());
    if (pending.leave_next(environment, ringer, time)) due.next = environment.clock->steady_now();
  });
  lobby.end_quiet_listening();
  return due;
}

void Session::leave_place_behind(std::string_view lock, const Token& ticket) noexcept {
  pending.add_place(lock, ticket, LeaveIn::a_ring_round);
  ringer.wake();
}

}  // namespace distlock
