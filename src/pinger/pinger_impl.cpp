#include "pinger/pinger_impl.h"

#include <pthread.h>

#include <boost/thread/lock_guard.hpp>

#include "distlock/error.h"
#include "failure.h"
#include "log.h"
#include "pinger/identity.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Guard = boost::lock_guard<boost::mutex>;

milliseconds whole_ms(nanoseconds duration) {
  return std::chrono::duration_cast<milliseconds>(duration);
}

}  // namespace

DistributedLockPinger::Impl::Impl(Environment given, const PingerOptions& given_options,
                                  PingerDrive given_drive)
    : environment(completed(std::move(given))),
      options(given_options),
      drive(given_drive),
      lobby(environment.store, environment.process),
      holds(given_drive == PingerDrive::own_threads ? AnnounceOn::own_threads : AnnounceOn::caller),
      chores(environment, options, holds, pending),
      started_(environment.clock->steady_now()),
      history_(nanoseconds{given_options.ping_every} / 2) {
  protocol::check_options(options);
}

std::shared_ptr<DistributedLockPinger::Impl> DistributedLockPinger::Impl::owner_of(
    std::shared_ptr<Impl> pinger) {
  Impl* const plain = pinger.get();
  // Let go of at the end, and not with the last weak_ptr.
  return {plain, [pinger = std::move(pinger)](Impl* ended) mutable noexcept {
            ended->join_threads();
            pinger.reset();
          }};
}

// Pings come last: what is not complete must have sent nothing.
void DistributedLockPinger::Impl::start_threads(const std::shared_ptr<Impl>& pinger) {
  log::creating_ping_thread(pinger->environment.process);
  try {
    pinger->holds.announcer().start();
    pinger->watch_thread_.start([pinger] { pinger->run_watch(); });
    pinger->ping_thread_.start([pinger] { pinger->run_pings(); });
  } catch (const boost::thread_resource_error& error) {
    throw Error(Errc::not_applied, std::string("the pinger needs four threads, and there is none "
                                               "to be had; raise the limit (ulimit -u) or end "
                                               "other programs: ") +
                                       error.what());
  }
}

void DistributedLockPinger::Impl::run_pings() {
  pthread_setname_np(pthread_self(), "LockPinger");
  while (!stopping.stop_requested()) {
    const SteadyTime next = round();
    first_round_done_.request_stop();
    environment.clock->wait_until(next, stopping.get_token());
  }
  first_round_done_.request_stop();
}

// Calls neither the store nor a callback, so that nothing can hold it up (R9).
void DistributedLockPinger::Impl::run_watch() {
  pthread_setname_np(pthread_self(), "LockWatch");
  while (!watch_stopping_.stop_requested()) {
    const Holds::Due due = holds.announce_due(environment.clock->steady_now());
    const std::stop_callback ending(watch_stopping_.get_token(), [this] { holds.wake_watch(); });
    environment.clock->wait_until(due.next, due.changed);
  }
}

bool DistributedLockPinger::Impl::ping_noting_failure() noexcept {
  try {
    ping();
    return true;
  } catch (...) {
    note_bad_ping(current_failure().what);
    return false;
  }
}

void DistributedLockPinger::Impl::ping() {
  Clock& clock = *environment.clock;
  protocol::LocalSpan span{clock.steady_now(), {}, clock.wall_now(), {}};
  const PingRecord record =
      environment.store->ping_and_report(environment.process, health_at(span.sent));
  span.received = clock.steady_now();
  span.wall_received = clock.wall_now();
  if (note_good_ping(record, span)) log::store_clock_stepped(record.clock.value_or(""));
}

// As it will be if this ping succeeds.
PingHealth DistributedLockPinger::Impl::health_at(SteadyTime now) const {
  const Guard lock(mutex_);
  PingHealth health = health_;
  ++health.successes;
  health.late_by = protocol::late_by(last_ping_sent_, now, options);
  return health;
}

// Says whether the store's clock was seen to step.
bool DistributedLockPinger::Impl::note_good_ping(const PingRecord& record,
                                                 const protocol::LocalSpan& span) {
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
    ++health_.successes;
    health_.round_trip = whole_ms(span.received - span.sent);
    health_.late_by = protocol::late_by(last_ping_sent_, span.sent, options);
    last_ping_sent_ = std::max(span.sent, last_ping_sent_.value_or(span.sent));
    const std::string clock = record.clock.value_or("");
    history_.note({record.ping, clock}, span);
    stepped = history_.stepped(clock, span.received, 4 * nanoseconds{options.ping_every},
                               protocol::kStepWorthAWarning);
  }
  holds.extend(span.sent, span.received);
  if (recovered) log::ping_recovered(environment.process, whole_ms(silence));
  log::pinged(environment.process, every_tenth);
  return stepped;
}

void DistributedLockPinger::Impl::note_bad_ping(std::string_view error) {
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

void DistributedLockPinger::Impl::check_usable() const {
  fork_guard.check("the lock");
  if (stopped_) {
    throw Error(Errc::stopped, "the pinger was stopped: nothing would keep a hold alive");
  }
}

ReleaseResult DistributedLockPinger::Impl::release_and_ring(const std::string& name,
                                                            const Token& ts) {
  Line* line = environment.store->line();
  if (line == nullptr) return environment.store->release(name, ts);
  Freed freed = line->release_and_tell(name, ts);
  if (freed.result != ReleaseResult::freed) return freed.result;
  if (std::erase(freed.next, environment.process) > 0) lobby.ring(name);
  try {
    if (!freed.next.empty()) line->ring(name, freed.next);
  } catch (const Error&) {
    // They find out by looking (R19).
  }
  return freed.result;
}

std::optional<SteadyTime> DistributedLockPinger::Impl::ensure_pinged(nanoseconds validity,
                                                                     const Limit& limit) {
  Clock& clock = *environment.clock;
  const auto last_ping = [&] {
    const Guard lock(mutex_);
    return last_ping_sent_;
  };
  if (drive == PingerDrive::own_threads && !last_ping()) {
    // The thread is about to, or did and failed.
    const EitherStop stop(first_round_done_.get_token(), limit.stop);
    const SteadyTime done_by = clock.steady_now() + environment.store->call_limit();
    clock.wait_until(std::min(done_by, limit.deadline), stop.token());
  }
  const bool must =
      protocol::must_ping_before_claim(last_ping(), clock.steady_now(), validity, options);
  if (must && !limit.over(clock)) ping();
  return last_ping();
}

Look DistributedLockPinger::Impl::look(std::string_view name, Freshness freshness) {
  Clock& clock = *environment.clock;
  Look look;
  look.span.wall_sent = clock.wall_now();
  look.span.sent = clock.steady_now();
  look.seen = environment.store->inspect(name, freshness);
  look.span.received = clock.steady_now();
  look.span.wall_received = clock.wall_now();
  if (look.seen.now) {
    const Guard lock(mutex_);
    history_.note(*look.seen.now, look.span);
  }
  return look;
}

StoreNow DistributedLockPinger::Impl::cutoff() const {
  const SteadyTime now = environment.clock->steady_now();
  const Guard lock(mutex_);
  StoreNow latest = *history_.at_most(now);
  latest.time += environment.store->call_limit();
  return latest;
}

bool DistributedLockPinger::Impl::clock_stepped(const Inspection& seen,
                                                const LockOptions& lock_options) {
  if (!seen.lock || !seen.now) return false;
  const SteadyTime here = environment.clock->steady_now();
  const milliseconds window = protocol::window(*seen.lock, lock_options);
  // A document may state more than nanoseconds hold; nobody remembers that far back.
  constexpr std::chrono::hours kLongest{24 * 365 * 100};
  const Guard lock(mutex_);
  return history_.stepped(seen.now->clock, here, std::min<milliseconds>(window, kLongest),
                          protocol::max_clock_skew(window, lock_options));
}

PingerStats DistributedLockPinger::Impl::stats() const {
  PingerStats stats;
  stats.holds = holds.active_count();
  stats.pending_releases = pending.count();
  const Guard lock(mutex_);
  stats.health = health_;
  stats.late = late_;
  return stats;
}

void DistributedLockPinger::Impl::stop() noexcept {
  // Whoever comes second waits for the first.
  std::call_once(stop_once_, [this] {
    stopped_ = true;
    stopping.request_stop();
    holds.close();
    ping_thread_.join();
    lobby.close();
    Chores::attempt("saying farewell", [&] { farewell(); });
  });
}

void DistributedLockPinger::Impl::join_threads() noexcept {
  stopping.request_stop();
  ping_thread_.join();
  lobby.close();
  watch_stopping_.request_stop();
  watch_thread_.join();
  holds.announcer().close();
}

}  // namespace distlock
