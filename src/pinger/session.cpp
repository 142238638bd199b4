#include "pinger/session.h"

#include <pthread.h>

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <tuple>

#include "distlock/error.h"
#include "distlock/members.h"
#include "enumerator.h"
#include "log.h"
#include "pinger/identity.h"
#include "pinger/known_tokens.h"
#include "pinger/of_another.h"
#include "saturating.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

Session::Session(Environment given, const PingerOptions& given_options, PingerDrive given_drive)
    : environment(completed(std::move(given))),
      options(given_options),
      drive(given_drive),
      lobby(environment.store, environment.process),
      ringer(environment, lobby),
      holds(given_drive == PingerDrive::own_threads ? AnnounceOn::own_threads : AnnounceOn::caller),
      chores(environment, options, holds, pending, ringer),
      overviews(
          environment.store, environment.process, [this] { return given_up(); },
          [this](const Token& ts) { return holder_of(ts); }, [this] { return lobby.hidden(); }),
      started_(environment.clock->steady_now()),
      history_(nanoseconds{given_options.ping_every} / 2) {
  check_enumerator("drive", drive, PingerDrive::caller);
}

std::shared_ptr<Session> Session::owner_of(std::shared_ptr<Session> pinger) {
  Session* const plain = pinger.get();
  // Let go of at the end, and not with the last weak_ptr.
  return {plain, [pinger = std::move(pinger)](Session* ended) mutable noexcept {
            ended->join_threads();
            pinger.reset();
          }};
}

// Pings come last: a pinger that is not complete must have sent nothing.
void Session::start_threads(const std::shared_ptr<Session>& pinger) {
  const log::OfStore of_store(*pinger->environment.store);
  log::creating_ping_thread(pinger->environment.process);
  try {
    pinger->holds.announcer().start();
    pinger->watch_thread_.start([pinger] { pinger->run_watch(); });
    pinger->ring_thread_.start([pinger] { pinger->run_ringer(); });
    pinger->ping_thread_.start([pinger] { pinger->run_pings(); });
  } catch (const boost::thread_resource_error& error) {
    throw Error(Errc::not_applied, std::string("the pinger needs five threads, and there is none "
                                               "to be had; raise the limit (ulimit -u) or end "
                                               "other programs: ") +
                                       error.what());
  }
}

void Session::run_pings() {
  pthread_setname_np(pthread_self(), "LockPinger");
  while (!stopping.stop_requested()) {
    const SteadyTime next = round();
    environment.clock->wait_until(next, stopping.get_token());
  }
  first_ping_done_.request_stop();
}

// Calls neither the store nor a callback, so that nothing can hold it up (R9).
void Session::run_watch() {
  pthread_setname_np(pthread_self(), "LockWatch");
  while (!watch_stopping_.stop_requested()) {
    const Holds::Due due = holds.announce_due(environment.clock->steady_now());
    const std::stop_callback ending(watch_stopping_.get_token(), [this] { holds.wake_watch(); });
    environment.clock->wait_until(due.next, due.changed);
  }
}

// Apart from the pings, which no other call of the store may hold up.
void Session::run_ringer() {
  pthread_setname_np(pthread_self(), "LockRinger");
  while (!stopping.stop_requested()) {
    const Ringer::Due due = ring_round();
    const std::stop_callback ending(stopping.get_token(), [this] { ringer.wake(); });
    environment.clock->wait_until(due.next, due.changed);
  }
}

void Session::check_usable() const {
  fork_guard.check("the lock");
  if (!stopped_ && !stopping.stop_requested()) return;  // The program's end requests it, too.
  throw Error(Errc::stopped, "the pinger was stopped: nothing would keep a hold alive");
}

// After a stop no round would find a release that was undone.
ReleaseRule Session::rule_now(ReleaseRule asked) const {
  return stopped_ || environment.store->line() == nullptr ? ReleaseRule::durable : asked;
}

Freed Session::release_and_ring(const std::string& name, const Token& ts, ReleaseRule rule) {
  if (rule == ReleaseRule::quick) released_quickly_ = true;
  return ringer.release(name, ts, rule);
}

std::function<bool(const Token&)> Session::given_up() const {
  return [known = KnownTokens(holds, pending)](const Token& ts) { return !known.is_kept(ts); };
}

std::optional<std::string> Session::holder_of(const Token& ts) const {
  const auto thread = holds.thread_of(ts);
  return thread ? std::optional(name_of_thread(environment, *thread)) : std::nullopt;
}

bool Session::free_if_stray(const Inspection& look, const Limit& limit) {
  const LockRecord& seen = *look.lock;
  if (!seen.taken() || !seen.ts || seen.process != environment.process) return false;
  const bool is_ours =
      holds.gave_up(*seen.ts) || whose(environment, look.members, *seen.ts) == Whose::ours;
  if (!is_ours) return false;
  const bool known = KnownTokens(holds, pending).contains(*seen.ts);
  if (known || limit.over(*environment.clock)) return false;
  try {
    // An unlock that ended after the look leaves no stray.
    const Freed freed = ringer.release(seen.name, *seen.ts, ReleaseRule::durable, limit);
    const bool was_there =
        freed.result == ReleaseResult::freed || freed.result == ReleaseResult::freed_in_part;
    if (was_there) log::stray_hold(seen.name);
    return true;
  } catch (...) {
    pending.add(seen.name, *seen.ts);
    return false;
  }
}

void Session::free_if_stopped(std::string_view lock, const Limit& limit) noexcept {
  const Clock& clock = *environment.clock;
  if (!stopped_ || limit.over(clock)) return;
  Chores::attempt("freeing what is pending", [&] {
    ChoreTime time(clock, environment.store->call_limit(), limit);
    pending.work_off(environment, ringer, time, lock);
  });
}

bool Session::ensure_pinged(nanoseconds validity, const Limit& limit,
                            const std::vector<MemberBasis>& bases) {
  Clock& clock = *environment.clock;
  const auto last_ping = [&] {
    const Guard lock(mutex_);
    return last_ping_sent_;
  };
  if (drive == PingerDrive::own_threads && !last_ping()) {
    // The thread is about to, or did and failed.
    const EitherStop stop(first_ping_done_.get_token(), limit.stop);
    const SteadyTime done_by = clock.steady_now() + environment.store->call_limit();
    clock.wait_until(std::min(done_by, limit.deadline), stop.token());
  }
  const auto must_ping = [&](std::optional<SteadyTime> last) {
    return !limit.over(clock) &&
           protocol::must_ping_before_claim(last, clock.steady_now(), validity, options);
  };
  if (must_ping(bases.empty() ? last_ping() : last_ping_for(bases))) ping_unless_stopped(limit);
  check_usable();                      // A stop may have come during the wait, or during the ping.
  if (must_ping(last_ping())) ping();  // The releases behind that one may have taken long (R7).
  check_usable();
  if (last_ping() || limit.stop.stop_requested()) return last_ping().has_value();
  throw Error(Errc::not_applied, "no ping was written in time, so nothing was claimed");
}

// A ping that is confirmed meanwhile waits for the mutex, and then extends the validity begun here.
void Session::begin_claim(Hold& hold) {
  if (Members* const members = environment.store->members()) {
    holds.begin_claim(hold, members->pings(environment.process), members->majority());
    extend_by_members(SteadyTime::max());  // By a ping that was confirmed after those were read.
    return;
  }
  const Guard lock(mutex_);
  hold.claim_validity.begin(*last_ping_sent_);
}

TimedInspection Session::look(std::string_view name, Freshness freshness) {
  TimedInspection look;
  std::tie(look.seen, look.span) =
      timed(*environment.clock, [&] { return environment.store->inspect(name, freshness); });
  if (look.seen.now) {
    const Guard lock(mutex_);
    history_.note(*look.seen.now, look.span);
    for (const Inspection& one : look.seen.members) {
      // A member on MongoDB that lacks the document tells no time.
      if (one.now) note_member(one.member, *one.now, look.span);
    }
  }
  return look;
}

// With the mutex.
void Session::note_member(const Token& member, const StoreNow& now, const SteadySpan& span) {
  const auto grain = nanoseconds{options.ping_every} / 2;
  member_histories_.try_emplace(member, grain).first->second.note(now, span);
}

StoreNow Session::cutoff() const {
  const SteadyTime now = environment.clock->steady_now();
  const Guard lock(mutex_);
  StoreNow latest = *history_.at_most(now);
  latest.time = saturating_sum(latest.time, environment.store->call_limit());
  return latest;
}

bool Session::clock_stepped(const Inspection& seen, const LockOptions& lock_options) {
  if (!seen.lock || !seen.now) return false;
  const SteadyTime here = environment.clock->steady_now();
  const milliseconds window = protocol::window(*seen.lock, lock_options);
  // A document may state more than nanoseconds hold; nobody remembers that far back.
  constexpr std::chrono::hours kLongest{24 * 365 * 100};
  const Guard lock(mutex_);
  const auto of_member = member_histories_.find(seen.member);
  StoreClockHistory& history = of_member == member_histories_.end() ? history_ : of_member->second;
  return history.stepped(seen.now->clock, here, std::min<milliseconds>(window, kLongest),
                         protocol::max_clock_skew(window, lock_options));
}

PingerStats Session::stats() const {
  PingerStats stats;
  stats.holds = holds.active_count();
  stats.pending_releases = pending.count();
  const Guard lock(mutex_);
  stats.health = health_;
  stats.late = late_;
  return stats;
}

void Session::stop() noexcept {
  const log::OfStore of_store(*environment.store);
  // The second caller waits for the first.
  std::call_once(stop_once_, [this] {
    stopped_ = true;
    stopping.request_stop();
    holds.close();
    ping_thread_.join();
    ring_thread_.join();
    Chores::attempt("saying farewell", [&] { farewell(); });
    ringer.finish();
    lobby.close();  // Which may take a call of the store, as on a server that hangs.
  });
}

void Session::farewell() {
  const Clock& clock = *environment.clock;
  ChoreTime time(clock, clock.steady_now() + environment.store->call_limit());
  pending.work_off(environment, ringer, time);
  const bool pinged = [&] {
    const Guard lock(mutex_);
    return last_ping_sent_.has_value();
  }();
  if (!pinged || !holds.empty()) return;
  if (released_quickly_) free_what_was_undone();
  if (pending.count() == 0) environment.store->remove_ping(environment.process);
}

// A hold that came back must not be left without a ping. This ping is durable, and makes earlier
// releases durable too: a hold that the list after it does not show cannot come back.
void Session::free_what_was_undone() {
  ping();
  const std::vector<StoredHold> list = environment.store->holds(environment.process);
  const KnownTokens known(holds, pending);
  for (const StoredHold& hold : list) {
    if (!known.contains(hold.ts)) chores.adopt(hold);
  }
  const SteadyTime now = environment.clock->steady_now();
  ChoreTime time(*environment.clock, now + environment.store->call_limit());
  pending.work_off(environment, ringer, time);
}

void Session::join_threads() noexcept {
  stopping.request_stop();
  ping_thread_.join();
  ring_thread_.join();
  lobby.close();
  watch_stopping_.request_stop();
  watch_thread_.join();
  holds.announcer().close();
}

}  // namespace distlock
