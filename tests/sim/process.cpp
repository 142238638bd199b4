#include "sim/process.h"

#include "distlock/stores.h"
#include "sim/whole_store.h"
#include "sim/worker.h"
#include "sim/world.h"

namespace distlock::sim {
namespace {

constexpr double kDriftMost = 0.0004;
constexpr std::chrono::milliseconds kWatchPause{100};

std::shared_ptr<SimClock> clock_of(World& world) {
  const Time offset =
      world.random.between(Time{std::chrono::hours{1}}, Time{std::chrono::hours{99}});
  double rate = 1;
  if (world.faults.enabled(Fault::drift)) {
    const double share = static_cast<double>(world.random.below(2001)) / 1000 - 1;
    rate += kDriftMost * share;
    world.faults.note(Fault::drift);
  }
  return std::make_shared<SimClock>(world.scheduler, offset, rate);
}

}  // namespace

SimProcess::SimProcess(World& world, std::string host, const LockOptions& options)
    : world_(world),
      host_(std::move(host)),
      id_(host_ + ":" + std::to_string(world.scheduler.now().count() / 1'000'000'000) + ":" +
          std::to_string(world.random.below(1'000'000))),
      options_(options),
      random_(world.random.fork()),
      clock_(clock_of(world)) {
  const auto add_store = [&](Servers& servers, Oracle& oracle, Trace& trace) {
    stores_.push_back(std::make_shared<SimStore>(servers, world.scheduler, world.faults, oracle,
                                                 trace, id_, world.call_limit(),
                                                 world.random.fork()));
    if (!world.setup.absent_tells_time) stores_.back()->tell_no_time_of_absent();
  };
  if (world.members.empty()) add_store(world.servers, world.oracle, world.trace);
  for (const auto& member : world.members)
    add_store(member->servers, member->oracle, member->trace);
  clock_->set_interruptions(world.random.fork(), world.setup.interruptions);
  for (std::size_t i = 0; i < stores_.size(); ++i) {
    stores_[i]->on_point([this, i](const Call& call) { at_point(call, i); });
    stores_[i]->on_granted([this] { outlast_a_grant(); });
  }
  whole_ = open();
  pinger_ = std::make_shared<DistributedLockPinger>(
      Environment{whole_, clock_, id_, [this] { return random_.next(); }}, world.setup.pinger,
      PingerDrive::caller);
}

std::shared_ptr<Store> SimProcess::open() {
  if (world_.members.empty()) return stores_.front();
  auto mirrored = make_mirrored_store({stores_.begin(), stores_.end()}, clock_,
                                      {MirrorDrive::caller, [this] { return random_.next(); }});
  return std::make_shared<WholeStore>(std::move(mirrored), stores_, world_.oracle);
}

void SimProcess::start(int workers, int locks) {
  working_ = workers;
  Scheduler& scheduler = world_.scheduler;
  for (int i = 0; i < workers; ++i) {
    scheduler.spawn(group_, id_ + " worker", [this, i, locks] { run_worker(i, locks); });
  }
  pinging_ = &scheduler.spawn(group_, id_ + " pinger", [this] { run_pings(); });
  scheduler.spawn(group_, id_ + " watch", [this] { run_watch(); });
  scheduler.spawn(group_, id_ + " ringer", [this] { run_ringer(); });
}

void SimProcess::run_worker(int number, int locks) {
  Worker worker(*this, world_.lock_name(static_cast<std::uint64_t>(number % locks)),
                world_.random.fork());
  worker.work();
  if (--working_ == 0) ending_.request_stop();
}

void SimProcess::run_pings() {
  std::stop_token ending = ending_.get_token();
  while (!dead_ && !must_stop()) {
    const SteadyTime before = clock_->steady_at_this_moment();
    const std::int64_t failures = pinger_->stats().health.failures;
    const SteadyTime next = pinger_->ping_round();
    // A mirrored store's deadlines are those of its members.
    const bool heard = world_.members.empty() && pinger_->stats().health.failures == failures;
    if (!dead_ && heard) {
      world_.oracle.heard_of_ping(id_, before, world_.setup.call_limit);
    }
    clock_->wait_until(std::min(next, clock_->steady_at(stops_at_)),
                       working_ == 0 ? ending : std::stop_token{});
  }
  if (!dead_) stop_pinger();
  end_watch();
}

bool SimProcess::must_stop() const {
  return world_.scheduler.now() >= stops_at_ || (ending_.stop_requested() && working_ == 0);
}

void SimProcess::stop_pinger() {
  world_.trace.say(id_, [] { return "stops its pinger"; });
  stopped_among_workers_ = working_ > 0;
  pinger_->stop();
  for (const auto& store : stores_) {
    if (dead_) return;
    if (!stopped_among_workers_) store->expect_silence();
    // Between a worker's last question and its call there may be an interruption. And a call of a
    // mirrored store asks one member after the other here.
    else if (world_.setup.interruptions == 0 && stores_.size() == 1)
      store->expect_no_claims();
  }
  ending_.request_stop();
  while (!dead_ && working_ > 0) {
    clock_->wait_until(clock_->steady_at_this_moment() + kWatchPause, {});
  }
  stopped_ = !dead_;
}

void SimProcess::run_watch() {
  const std::stop_token stop = stopping_watch_.get_token();
  const auto nap = world_.setup.pinger.ping_every;
  while (!dead_ && !stop.stop_requested()) {
    const SteadyTime next = pinger_->watch_round();
    clock_->wait_until(std::min(next, clock_->steady_at_this_moment() + nap), stop);
  }
}

// A turn after each release, and then as long as there is somebody to be told.
void SimProcess::run_ringer() {
  while (!dead_ && !stopping_watch_.stop_requested()) {
    released_ = std::stop_source{};
    const SteadyTime next = pinger_->ring_round();
    if (!clock_->wait_until(next, released_.get_token())) {
      clock_->wait_until(clock_->steady_at_this_moment() + kWatchPause,
                         stopping_watch_.get_token());
    }
  }
}

void SimProcess::end_watch() {
  stopping_watch_.request_stop();
  released_.request_stop();
}

void SimProcess::crash() {
  if (!alive()) return;
  if (world_.oracle.someone_believes(id_)) world_.faults.mattered(Fault::crash);
  world_.trace.say(id_, [] { return "crashes"; });
  dead_ = true;
  clock_->die();
  for (const auto& store : stores_) store->die();
  world_.oracle.died(id_);
  ending_.request_stop();
  end_watch();
  group_.paused_until = Time{0};
  world_.scheduler.wake_all(group_);
}

void SimProcess::pause(Time until) {
  if (!alive()) return;
  ++pauses_;
  world_.trace.say(id_, [&] { return "stands still until " + text_of(until); });
  group_.paused_until = std::max(group_.paused_until, until);
}

void SimProcess::has_unlocked(const std::string& lock) {
  if (const auto then = std::exchange(once_unlocked_, nullptr)) then(lock);
}

void SimProcess::go_on() {
  world_.trace.say(id_, [] { return "goes on"; });
  group_.paused_until = std::min(group_.paused_until, world_.scheduler.now());
  world_.scheduler.wake_all(group_);
}

void SimProcess::pause_pinger(Time until) {
  if (!alive()) return;
  if (world_.oracle.someone_believes(id_)) world_.faults.mattered(Fault::pinger_paused);
  world_.trace.say(id_, [&] { return "has its pinger stand still until " + text_of(until); });
  world_.scheduler.pause(*pinging_, until);
}

void SimProcess::ambush(Fault fault, int points, Time duration) {
  ambush_ = Ambush{fault, points, duration};
}

void SimProcess::at_point(const Call& call, std::size_t member) {
  if (call.verb == "release" && call.replied) wake_ringer();
  if (call.verb == "release" && !call.replied && world_.faults.strikes(Fault::crash_in_unlock)) {
    world_.faults.mattered(Fault::crash_in_unlock);
    return crash();
  }
  const bool sends_release = call.verb == "release" && !call.replied && call.give_up_at == Time{0};
  if (sends_release && before_release_ && before_release_->member == member) {
    return std::exchange(before_release_, std::nullopt)->then();
  }
  if (!ambush_ || --ambush_->points > 0) return;
  spring(*std::exchange(ambush_, std::nullopt));
}

void SimProcess::spring(const Ambush& ambush) {
  if (!world_.faults.enabled(ambush.fault)) return;
  world_.faults.note(ambush.fault);
  if (ambush.fault == Fault::crash) return crash();
  if (ambush.fault == Fault::pause_short || world_.oracle.someone_believes(id_)) {
    world_.faults.mattered(ambush.fault);
  }
  pause(world_.scheduler.now() + ambush.duration);
  world_.scheduler.yield();
}

void SimProcess::outlast_a_grant() {
  const Time window = options_.takeover_after;
  pause(world_.scheduler.now() + random_.between(window / 2, 2 * window));
  world_.scheduler.yield();
}

void SimProcess::set_wall_off(std::chrono::milliseconds off) {
  world_.trace.say(id_, [&] {
    return "has its wall clock " + std::to_string(off.count()) + " ms from the truth";
  });
  clock_->set_wall_off(off);
}

void SimProcess::end_soon() { ending_.request_stop(); }

}  // namespace distlock::sim
