#include "original/original_process.h"

namespace distlock::original {
namespace {

using sim::Random;
using sim::Time;

std::string new_id(sim::World& world, const std::string& host) {
  return host + ":" + std::to_string(world.scheduler.now().count() / 1'000'000'000) + ":" +
         std::to_string(world.random.below(1'000'000));
}

// The draws are in the order that the schedules in the docs were found with.
std::vector<std::unique_ptr<sim::SimStore>> connect(sim::World& world, const std::string& host,
                                                    const std::vector<sim::Servers*>& servers) {
  std::vector<std::unique_ptr<sim::SimStore>> stores;
  Random random = world.random.fork();
  const std::string id = new_id(world, host);
  for (sim::Servers* const one : servers) {
    stores.push_back(std::make_unique<sim::SimStore>(*one, world.scheduler, world.faults,
                                                     one->oracle(), world.trace, id,
                                                     world.setup.call_limit, random));
    random = random.fork();
  }
  return stores;
}

std::vector<sim::SimStore*> all_of(const std::vector<std::unique_ptr<sim::SimStore>>& stores) {
  std::vector<sim::SimStore*> all;
  for (const auto& store : stores) all.push_back(store.get());
  return all;
}

}  // namespace

OriginalProcess::OriginalProcess(sim::World& world, const std::string& host, Site site,
                                 Witness& witness)
    : world_(world),
      host_(host),
      site_(std::move(site)),
      clock_(world.scheduler, Time{std::chrono::hours{1}}, 1),
      stores_(connect(world, host, site_.servers)),
      program_{stores_.front()->process(),
               site_.constants,
               all_of(stores_),
               clock_,
               world.trace,
               witness,
               world.random.fork()} {
  for (const auto& store : stores_) {
    store->on_point([this](const sim::Call&) { at_point(); });
  }
}

Time OriginalProcess::window() const {
  return std::chrono::minutes{program_.constants.takeover_minutes + 1};
}

// As the original does: the first lock object starts the ping thread, and nobody waits for it.
void OriginalProcess::start(int workers, bool together) {
  working_ = workers;
  together_ = together;
  const auto locks = static_cast<std::uint64_t>(world_.setup.locks);
  pinging_ = &world_.scheduler.spawn(group_, id() + " pinger", [this] { ping_until_the_end(); });
  for (int i = 0; i < workers; ++i) {
    const std::string name = world_.lock_name(static_cast<std::uint64_t>(i) % locks);
    world_.scheduler.spawn(group_, id() + " worker",
                           [this, name, random = world_.random.fork()] { work(name, random); });
  }
}

void OriginalProcess::ping_until_the_end() {
  const std::stop_token ending = ending_.get_token();
  while (!ending.stop_requested()) {
    ping_round_of(site_.algorithm, program_);
    clock_.wait_until(clock_.steady_at_this_moment() + program_.constants.ping_every, ending);
  }
}

void OriginalProcess::rest(Time duration) {
  clock_.wait_until(clock_.steady_at_this_moment() + duration, stopping_work_.get_token());
}

void OriginalProcess::work(const std::string& lock_name, Random random) {
  while (!stopping_work_.stop_requested()) {
    try {
      one_turn(lock_name, random);
    } catch (const Error& error) {
      world_.trace.say(id(), [&] { return std::string("gets the error: ") + error.what(); });
    }
  }
  --working_;
}

void OriginalProcess::one_turn(const std::string& lock_name, Random& random) {
  const Time ten = std::chrono::seconds{10};
  const Time until_ten = ten - world_.scheduler.now() % ten;
  rest(together_ ? until_ten : random.between(Time{0}, window() / 6));
  if (stopping_work_.stop_requested()) return;
  const auto lock = lock_of(site_.algorithm, program_, lock_name);
  if (!lock->lock_try() || dead_) return;
  world_.trace.say(id(), [&] { return "holds " + lock_name; });
  if (lock->has_deadline()) {
    program_.witness.will_hold_while(lock->ts(), [&lock = *lock] { return lock.holds(); });
  }
  program_.witness.holds(id(), lock_name, lock->ts());
  const std::uint64_t steps = random.below(6);
  for (std::uint64_t i = 0; i < steps; ++i) {
    rest(random.between(Time{0}, window() / 4));
    act(*lock);
  }
  if (dead_) return;
  program_.witness.gives_up(id(), lock->ts());
  lock->unlock();
}

// It may stand still between its look at the deadline and its write.
void OriginalProcess::act(PublishedLock& lock) {
  if (dead_ || !lock.has_deadline() || !lock.holds()) return;
  at_point();
  if (!dead_) program_.witness.acts(id(), lock.ts());
}

void OriginalProcess::at_point() {
  if (dead_ || points_left_ == 0 || --points_left_ > 0) return;
  if (!ambush_pause_) return crash();
  pause(world_.scheduler.now() + *ambush_pause_);
  world_.scheduler.yield();
}

void OriginalProcess::ambush(int points, std::optional<Time> pause_for) {
  points_left_ = points;
  ambush_pause_ = pause_for;
}

void OriginalProcess::crash() {
  if (std::exchange(dead_, true)) return;
  world_.trace.say(id(), [] { return "crashes"; });
  clock_.die();
  for (const auto& store : stores_) store->die();
  program_.witness.died(id());
  stopping_work_.request_stop();
  ending_.request_stop();
  group_.paused_until = Time{0};
  world_.scheduler.wake_all(group_);
}

void OriginalProcess::pause(Time until) {
  world_.trace.say(id(), [&] { return "stands still until " + sim::text_of(until); });
  group_.paused_until = std::max(group_.paused_until, until);
}

void OriginalProcess::pause_pinger(Time until) {
  world_.trace.say(id(), [&] { return "has its pinger stand still until " + sim::text_of(until); });
  world_.scheduler.pause(*pinging_, until);
}

void OriginalProcess::set_wall_off(std::chrono::milliseconds off) {
  world_.trace.say(id(), [&] {
    return "has its clock " + std::to_string(off.count() / 1000) + " s from the truth";
  });
  clock_.set_wall_off(off);
}

void OriginalProcess::stop_working() {
  points_left_ = 0;
  group_.paused_until = world_.scheduler.now();
  stopping_work_.request_stop();
  world_.scheduler.wake_all(group_);
}

void OriginalProcess::end() { ending_.request_stop(); }

}  // namespace distlock::original
