#include "distlock/pinger.h"

#include <pthread.h>
#include <unistd.h>

#include <boost/thread/lock_guard.hpp>
#include <map>
#include <random>

#include "distlock/error.h"
#include "distlock/stores.h"
#include "log.h"
#include "pinger_impl.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using Guard = boost::lock_guard<boost::mutex>;

std::uint64_t system_random() {
  thread_local std::random_device device;
  return std::uint64_t{device()} << 32U | device();
}

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "localhost";
  return name;
}

// `host:unixSeconds:random`, as the original's.
std::string new_process_id(const Environment& environment) {
  const auto now = environment.clock->wall_now().time_since_epoch();
  return host_name() + ':' + std::to_string(std::chrono::floor<std::chrono::seconds>(now).count()) +
         ':' + std::to_string(environment.random() >> 33U);
}

Environment completed(Environment environment) {
  if (!environment.store) throw Error(Errc::invalid_argument, "a pinger needs a store");
  if (!environment.clock) environment.clock = host_clock();
  if (!environment.random) environment.random = system_random;
  if (environment.process.empty()) environment.process = new_process_id(environment);
  return environment;
}

// Small numbers in order of first use: the same in every run of a program, unlike system ids.
unsigned thread_number() {
  static std::atomic<unsigned> last{0};
  thread_local const unsigned number = ++last;
  return number;
}

milliseconds whole_ms(nanoseconds duration) {
  return std::chrono::duration_cast<milliseconds>(duration);
}

}  // namespace

DistributedLockPinger::Impl::Impl(Environment given, const PingerOptions& given_options)
    : environment(completed(std::move(given))),
      options(given_options),
      started_(environment.clock->steady_now()),
      history_(nanoseconds{given_options.ping_every} / 2) {
  protocol::check_options(options);
  forget_next_ = started_;
}

void DistributedLockPinger::Impl::start_thread() {
  log::creating_ping_thread(environment.process);
  threaded_ = true;
  thread_ = boost::thread([this] { run(); });
}

void DistributedLockPinger::Impl::run() {
  pthread_setname_np(pthread_self(), "LockPinger");
  while (!stopping.stop_requested()) {
    const SteadyTime next = round();
    first_round_done_.request_stop();
    environment.clock->wait_until(next, stopping.get_token());
  }
}

SteadyTime DistributedLockPinger::Impl::round() noexcept {
  const SteadyTime begun = environment.clock->steady_now();
  if (!ping_noting_failure()) {
    return environment.clock->steady_now() + protocol::ping_retry_pause(options);
  }
  work_off_pending();
  forget_old_pings();
  return begun + options.ping_every;
}

bool DistributedLockPinger::Impl::ping_noting_failure() noexcept try {
  ping();
  return true;
} catch (const std::exception& error) {
  note_bad_ping(error.what());
  return false;
}

void DistributedLockPinger::Impl::ping() {
  Clock& clock = *environment.clock;
  protocol::LocalSpan span{clock.steady_now(), {}, clock.wall_now(), {}};
  const PingRecord record = environment.store->ping(environment.process);
  span.received = clock.steady_now();
  span.wall_received = clock.wall_now();
  note_good_ping(record, span);
}

void DistributedLockPinger::Impl::note_good_ping(const PingRecord& record,
                                                 const protocol::LocalSpan& span) {
  const StoreNow now{record.ping, record.clock.value_or("")};
  nanoseconds silence{0};
  bool recovered = false;
  bool every_tenth = false;
  {
    const Guard lock(mutex_);
    silence = span.sent - last_ping_sent_.value_or(started_);
    recovered = std::exchange(late_, false) ||
                protocol::ping_is_late(last_ping_sent_.value_or(started_), span.sent, options);
    last_ping_sent_ = std::max(span.sent, last_ping_sent_.value_or(span.sent));
    every_tenth = pings_++ % 10 == 0;
    history_.note(now, span);
    for (Validity* hold : enlisted_) hold->extend(span.sent, span.received);
  }
  if (recovered) log::ping_recovered(environment.process, whole_ms(silence));
  log::pinged(environment.process, every_tenth);
  const nanoseconds pace = 4 * nanoseconds{options.ping_every};
  const bool stepped = [&] {
    const Guard lock(mutex_);
    return history_.stepped(now.clock, span.received, pace, std::chrono::seconds{30});
  }();
  if (stepped) log::store_clock_stepped(now.clock);
}

void DistributedLockPinger::Impl::note_bad_ping(std::string_view error) {
  log::ping_failed(environment.process, error);
  const SteadyTime now = environment.clock->steady_now();
  nanoseconds silence{0};
  {
    const Guard lock(mutex_);
    const SteadyTime last = last_ping_sent_.value_or(started_);
    if (late_ || !protocol::ping_is_late(last, now, options)) return;
    late_ = true;
    silence = now - last;
  }
  log::ping_late(environment.process, whole_ms(silence));
}

void DistributedLockPinger::Impl::work_off_pending() noexcept try {
  if (!pending.empty()) pending.work_off(*environment.store, *environment.clock);
} catch (const std::exception& error) {
  log::ping_failed(environment.process, error.what());
}

void DistributedLockPinger::Impl::forget_old_pings() noexcept try {
  const SteadyTime now = environment.clock->steady_now();
  if (now < forget_next_) return;
  // Half to one and a half times the interval, so that processes do not come all at once.
  const auto spread = static_cast<std::uint64_t>(nanoseconds{options.forget_every}.count());
  const nanoseconds jitter{static_cast<std::int64_t>(environment.random() % spread)};
  forget_next_ = now + nanoseconds{options.forget_every} / 2 + jitter;
  log::forgot_pings(environment.store->forget_pings(options.forget_after));
} catch (const std::exception& error) {
  log::cleanup_failed(error.what());
}

SteadyTime DistributedLockPinger::Impl::ensure_pinged(const LockOptions& lock_options) {
  const auto last_ping = [&] {
    const Guard lock(mutex_);
    return last_ping_sent_;
  };
  if (threaded_ && !last_ping()) {
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

Token DistributedLockPinger::Impl::new_token() const {
  const auto wall = environment.clock->wall_now().time_since_epoch();
  const auto seconds =
      static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(wall).count());
  const std::uint64_t random = environment.random();
  Token token;
  for (std::size_t i = 0; i < 4; ++i) {
    token.bytes[i] = static_cast<std::uint8_t>(seconds >> (24 - 8 * i));
  }
  for (std::size_t i = 0; i < 8; ++i) {
    token.bytes[4 + i] = static_cast<std::uint8_t>(random >> (56 - 8 * i));
  }
  return token;
}

std::string DistributedLockPinger::Impl::new_who() const {
  return environment.process + ":thread" + std::to_string(thread_number()) + ':' +
         std::to_string(environment.random() >> 33U);
}

void DistributedLockPinger::Impl::enlist(Validity& validity) {
  const Guard lock(mutex_);
  if (stopped_) {
    throw Error(Errc::not_applied, "the pinger was stopped: nothing would keep a hold alive");
  }
  enlisted_.insert(&validity);
}

void DistributedLockPinger::Impl::begin(Validity& validity, SteadyTime ping_sent) {
  const Guard lock(mutex_);
  validity.begin(std::max(ping_sent, last_ping_sent_.value_or(ping_sent)));
}

void DistributedLockPinger::Impl::delist(Validity& validity) noexcept {
  const Guard lock(mutex_);
  validity.end();
  enlisted_.erase(&validity);
}

void DistributedLockPinger::Impl::stop() noexcept {
  if (!stopping.request_stop()) return;
  {
    const Guard lock(mutex_);
    stopped_ = true;
  }
  if (thread_.joinable()) thread_.join();
  farewell();
}

void DistributedLockPinger::Impl::farewell() noexcept try {
  if (!pending.empty()) pending.work_off(*environment.store, *environment.clock);
  const bool needed = [&] {
    const Guard lock(mutex_);
    return !last_ping_sent_ || !enlisted_.empty();
  }();
  if (!needed && pending.empty()) environment.store->remove_ping(environment.process);
} catch (const std::exception& error) {
  log::cleanup_failed(error.what());
}

DistributedLockPinger::DistributedLockPinger(Environment environment, const PingerOptions& options,
                                             PingerDrive drive)
    : impl_(std::make_shared<Impl>(std::move(environment), options)) {
  if (drive == PingerDrive::own_threads) impl_->start_thread();
}

DistributedLockPinger::~DistributedLockPinger() { stop(); }

std::shared_ptr<DistributedLockPinger> DistributedLockPinger::got(
    const ConnectionString& connection) {
  static boost::mutex mutex;
  static std::map<std::string, std::weak_ptr<DistributedLockPinger>> seen;
  const auto running = [&]() -> std::shared_ptr<DistributedLockPinger> {
    const Guard lock(mutex);
    return seen[connection.text()].lock();
  };
  if (auto pinger = running()) return pinger;
  // Opened without the mutex: one store that does not answer must not hold up the others.
  auto made = std::make_shared<DistributedLockPinger>(Environment{.store = open_store(connection)});
  const Guard lock(mutex);
  auto& slot = seen[connection.text()];
  if (auto pinger = slot.lock()) return pinger;
  slot = made;
  return made;
}

const std::string& DistributedLockPinger::process() const { return impl_->environment.process; }

Store& DistributedLockPinger::store() const { return *impl_->environment.store; }

SteadyTime DistributedLockPinger::ping_round() noexcept { return impl_->round(); }

void DistributedLockPinger::stop() noexcept { impl_->stop(); }

}  // namespace distlock
