#include "pinger_impl.h"

#include <pthread.h>

#include <boost/thread/lock_guard.hpp>
#include <set>

#include "distlock/error.h"
#include "identity.h"
#include "log.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Guard = boost::lock_guard<boost::mutex>;

milliseconds whole_ms(nanoseconds duration) {
  return std::chrono::duration_cast<milliseconds>(duration);
}

void join(boost::thread& thread) {
  // A log sink or a callback may end the program from here.
  if (thread.joinable() && thread.get_id() != boost::this_thread::get_id()) thread.join();
}

}  // namespace

DistributedLockPinger::Impl::Impl(Environment given, const PingerOptions& given_options,
                                  PingerDrive given_drive)
    : environment(completed(std::move(given))),
      options(given_options),
      drive(given_drive),
      holds(given_drive == PingerDrive::own_threads ? AnnounceOn::own_thread : AnnounceOn::caller),
      started_(environment.clock->steady_now()),
      history_(nanoseconds{given_options.ping_every} / 2) {
  protocol::check_options(options);
  forget_next_ = started_;
}

DistributedLockPinger::Impl::~Impl() { join_threads(); }

void DistributedLockPinger::Impl::start_threads() {
  log::creating_ping_thread(environment.process);
  ping_thread_ = boost::thread([this] { run_pings(); });
  watch_thread_ = boost::thread([this] { run_watch(); });
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

SteadyTime DistributedLockPinger::Impl::round() noexcept {
  const SteadyTime begun = environment.clock->steady_now();
  log_losses();
  if (!ping_noting_failure()) {
    return environment.clock->steady_now() + protocol::ping_retry_pause(options);
  }
  const SteadyTime give_up_at = begun + nanoseconds{options.ping_every} / 2;
  attempt("verifying holds", [&] { verify_holds(give_up_at); });
  log_losses();
  attempt("working off pending releases",
          [&] { pending.work_off(*environment.store, *environment.clock, give_up_at); });
  attempt("removing old pings", [&] { forget_old_pings(); });
  return begun + options.ping_every;
}

template <class Chore>
void DistributedLockPinger::Impl::attempt(const char* what, Chore chore) noexcept {
  try {
    chore();
  } catch (const std::exception& error) {
    log::chore_failed(what, error.what());
  }
}

bool DistributedLockPinger::Impl::ping_noting_failure() noexcept {
  try {
    ping();
    return true;
  } catch (const std::exception& error) {
    note_bad_ping(error.what());
    return false;
  }
}

void DistributedLockPinger::Impl::ping() {
  Clock& clock = *environment.clock;
  protocol::LocalSpan span{clock.steady_now(), {}, clock.wall_now(), {}};
  const PingRecord record = environment.store->ping(environment.process);
  span.received = clock.steady_now();
  span.wall_received = clock.wall_now();
  if (note_good_ping(record, span)) log::store_clock_stepped(record.clock.value_or(""));
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

void DistributedLockPinger::Impl::verify_holds(SteadyTime give_up_at) {
  const std::vector<ActiveHold> active = holds.active();
  if (active.empty()) return;
  std::set<std::pair<std::string, Token>> stored;
  for (StoredHold& hold : environment.store->holds(environment.process)) {
    stored.emplace(std::move(hold.name), hold.ts);
  }
  for (const ActiveHold& hold : active) {
    if (stored.contains({hold.hold->name, hold.ts})) continue;
    if (environment.clock->steady_now() >= give_up_at) return;
    // The list may come from a primary that is none any more. A fresh read cannot.
    const auto reason = fate_of(hold.hold->name, hold.ts);
    if (!reason) continue;
    holds.lose(hold, *reason);
  }
}

void DistributedLockPinger::Impl::log_losses() {
  for (const auto& [name, reason] : holds.take_unlogged()) log::lost(name, reason);
}

std::optional<LossReason> DistributedLockPinger::Impl::fate_of(const std::string& name,
                                                               const Token& ts) {
  const Inspection seen = look(name, Freshness::fresh).seen;
  if (!seen.lock) return LossReason::document_gone;
  if (seen.lock->ts != ts) {
    return seen.lock->taken() ? LossReason::taken_over : LossReason::replaced;
  }
  return seen.lock->taken() ? std::nullopt : std::optional(LossReason::freed);
}

void DistributedLockPinger::Impl::forget_old_pings() {
  const SteadyTime now = environment.clock->steady_now();
  if (now < forget_next_) return;
  forget_next_ = now + protocol::forget_pause(environment.random(), options);
  log::forgot_pings(environment.store->forget_pings(options.forget_after));
}

SteadyTime DistributedLockPinger::Impl::ensure_pinged(const LockOptions& lock_options) {
  const auto last_ping = [&] {
    const Guard lock(mutex_);
    return last_ping_sent_;
  };
  if (drive == PingerDrive::own_threads && !last_ping()) {
    // The thread is about to, or did and failed.
    environment.clock->wait_until(environment.clock->steady_now() + environment.store->call_limit(),
                                  first_round_done_.get_token());
  }
  const SteadyTime now = environment.clock->steady_now();
  if (protocol::must_ping_before_claim(last_ping(), now, lock_options, options)) ping();
  return *last_ping();
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

bool DistributedLockPinger::Impl::clock_stepped(const StoreNow& now,
                                                const LockOptions& lock_options) const {
  const SteadyTime here = environment.clock->steady_now();
  const Guard lock(mutex_);
  return history_.stepped(now.clock, here, lock_options.takeover_after,
                          protocol::max_clock_skew(lock_options));
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
  if (stopped_.exchange(true)) return;
  stopping.request_stop();
  holds.close();
  join(ping_thread_);
  attempt("saying farewell", [&] { farewell(); });
}

void DistributedLockPinger::Impl::farewell() {
  const SteadyTime give_up_at = environment.clock->steady_now() + environment.store->call_limit();
  pending.work_off(*environment.store, *environment.clock, give_up_at);
  const bool pinged = [&] {
    const Guard lock(mutex_);
    return last_ping_sent_.has_value();
  }();
  if (pinged && holds.empty() && pending.count() == 0) {
    environment.store->remove_ping(environment.process);
  }
}

void DistributedLockPinger::Impl::join_threads() noexcept {
  stopping.request_stop();
  join(ping_thread_);
  watch_stopping_.request_stop();
  join(watch_thread_);
}

}  // namespace distlock
