#include "sim/worker.h"

#include <stdexcept>

#include "distlock/error.h"
#include "sim/forked_child.h"
#include "sim/world.h"

namespace distlock::sim {

Worker::Worker(SimProcess& process, std::string lock_name, Random random)
    : process_(process),
      world_(process.world()),
      lock_name_(std::move(lock_name)),
      random_(random) {
  told_.could_have_been = [this] {
    const Time since = world_.scheduler.now() - Time{std::chrono::milliseconds{1}};
    return process_.alive() && process_.group().paused_until < since;
  };
}

void Worker::work() {
  while (!process_.ending()) {
    DistributedLock lock(process_.pinger(), lock_name_, process_.options());
    ask_for_news(lock);
    const std::uint64_t turns = 1 + random_.below(8);
    for (std::uint64_t i = 0; i < turns && !process_.ending(); ++i) one_turn(lock);
  }
}

void Worker::ask_for_news(DistributedLock& lock) {
  wants_news_ = random_.chance(0.7);
  if (wants_news_) lock.on_lost([this, &lock](LossReason reason) { hear(lock, reason); });
}

void Worker::hear(DistributedLock& lock, LossReason reason) {
  if (process_.dead()) return;
  if (is_of_next_hold(lock)) {
    told_of_next_ = true;
    return;
  }
  if (++told_.times > 1) world_.oracle.violate(process_.id() + " was told twice of one loss");
  if (!token_.stop_requested()) {
    world_.oracle.violate(process_.id() + " was told of a loss before its token was stopped");
  }
  if (believed_) world_.oracle.told_lost(lock_name_, *believed_, reason);
  world_.trace.say(process_.id(), [&] { return "hears: " + std::string(to_text(reason)); });
  if (random_.chance(0.2)) throw std::runtime_error("a callback that throws");
}

// Granted and lost before the call that claimed it came back with it, and so before its token could
// be asked for.
bool Worker::is_of_next_hold(DistributedLock& lock) const {
  if (believed_ || told_of_next_) return false;
  if (token_.stop_requested() && told_.times == 0) return false;
  const std::stop_token token = lock.stop_token();
  return token != token_ && token.stop_requested();
}

// Whether it went without one of the errors that a store may cause.
template <class Operation>
bool Worker::tolerate(const Operation& operation) {
  try {
    operation();
    return true;
  } catch (const Error& error) {
    world_.trace.say(process_.id(), [&] { return std::string("gets the error: ") + error.what(); });
    const Errc code = error.errc();
    if (code == Errc::invalid_argument || code == Errc::forked || code == Errc::already_held) {
      world_.oracle.violate(std::string("an error that nothing called for: ") + error.what());
    }
    return false;
  }
}

void Worker::think(Time most) {
  SimClock& clock = process_.clock();
  const SteadyTime until = clock.steady_at_this_moment() + random_.between(Time{0}, most);
  clock.wait_until(until, process_.ending_token());
}

// In a hurry most pauses are so short that a hold is passed on several times (R21).
Time Worker::pause_between(Time usual) {
  if (!world_.setup.hurry || !random_.chance(0.95)) return usual;
  return Time{std::chrono::milliseconds{12}};
}

void Worker::one_turn(DistributedLock& lock) {
  think(pause_between(Time{process_.options().takeover_after} / 8));
  if (process_.ending() || !get(lock)) return;
  believe(lock);
  act(lock);
  give_up(lock);
}

bool Worker::get(DistributedLock& lock) {
  note_asking();
  if (random_.chance(world_.setup.hurry ? 0.9 : 0.5)) return wait_for(lock);
  bool got = false;
  LockRecord other;
  if (tolerate([&] { got = lock.lock_try("work", &other); }) && !got) tell_loser(other);
  return got;
}

bool Worker::wait_for(DistributedLock& lock) {
  const Time limit = random_.between(Time{0}, Time{process_.options().takeover_after} * 2);
  bool got = false;
  tolerate([&] { got = lock.try_lock_for(limit, process_.ending_token(), "work"); });
  process_.wake_ringer();
  // The last lock_try() began in time, and is bounded by the store's limit for a call.
  const Time most =
      limit + slowness() * 40 * Time{world_.setup.call_limit} + std::chrono::seconds{1};
  if (process_.pauses() == pauses_before_ && world_.scheduler.now() > asked_ + most) {
    world_.oracle.violate(process_.id() + " waited for " + lock_name_ + " beyond its deadline");
  }
  const bool in_line = process_.options().wait_rule == WaitRule::in_line;
  const Time longest =
      in_line ? Time{process_.options().recheck} * 3 / 2 : Time{process_.options().poll_max};
  const Time look = longest + std::chrono::seconds{1};
  const bool in_vain = !got && !process_.ending() && limit > look;
  // Nobody gets a lock whose line is malformed (R14).
  const FaultSet& faults = world_.setup.faults;
  if (in_vain && of_the_line_alone(faults) && !has(faults, Fault::line_malformed)) {
    world_.oracle.waited_in_vain(process_.id(), lock_name_, world_.scheduler.now() - look);
  }
  return got;
}

// Members are asked one after the other here.
int Worker::slowness() const { return 1 + 2 * static_cast<int>(world_.setup.members); }

void Worker::tell_loser(const LockRecord& other) {
  if (process_.dead()) return;
  const bool fresh = world_.servers.kind() == StoreKind::steady;
  world_.oracle.shown(lock_name_, other, asked_, fresh);
  // Free, but those in line come first (R17).
  if (!other.taken() && !other.line.empty()) return;
  world_.oracle.said_busy(process_.id(), lock_name_, asked_, fresh);
}

void Worker::note_asking() {
  asked_ = world_.scheduler.now();
  pauses_before_ = process_.pauses();
  told_of_next_ = false;
}

// A pause in the call, after its last look at the clock, is what no library can see.
bool Worker::ended_on_the_way(const DistributedLock& lock) const {
  return process_.pauses() != pauses_before_ &&
         lock.valid_until() <= process_.clock().steady_at_this_moment();
}

void Worker::believe(DistributedLock& lock) {
  if (process_.dead()) return;
  const LockRecord record = lock.record();
  believed_ = record.ts;
  fence_ = record.fence;
  told_.times = std::exchange(told_of_next_, false) ? 1 : 0;
  token_ = lock.stop_token();
  world_.trace.say(process_.id(), [&] {
    return "holds " + lock_name_ + " with fence " + std::to_string(record.fence);
  });
  world_.oracle.granted(
      {lock_name_, process_.id(), *record.ts, record.fence, &lock, &process_.clock(),
       wants_news_ ? &told_ : nullptr, token_, ended_on_the_way(lock)},
      asked_);
}

void Worker::act(DistributedLock& lock) {
  const std::uint64_t steps = random_.below(6);
  for (std::uint64_t i = 0; i < steps && !process_.dead() && believed_; ++i) {
    think(pause_between(Time{process_.options().takeover_after} / 4));
    act_once(lock);
  }
  while (process_.holds_on() && lock.held() && !process_.ending()) {
    think(Time{world_.setup.pinger.ping_every} / 8);
  }
}

void Worker::act_once(DistributedLock& lock) {
  if (process_.dead()) return;
  if (world_.faults.strikes(Fault::fork)) in_a_forked_child(lock);
  switch (random_.below(4)) {
    case 0:
      ask_store(lock);
      break;
    case 1:
      if (!lock.held()) claim_anew(lock);
      break;
    default:
      tolerate([&] { lock.check(); });
  }
}

void Worker::ask_store(DistributedLock& lock) {
  const Time asked = world_.scheduler.now();
  bool held = false;
  if (!tolerate([&] { held = lock.still_held(); }) || process_.dead()) return;
  if (const Belief* belief = world_.oracle.belief_of(*believed_, fence_)) {
    world_.oracle.still_held_said(*belief, asked, held);
  }
}

void Worker::claim_anew(DistributedLock& lock) {
  const bool by_reclaim = random_.chance(0.5);
  world_.oracle.gave_up(*std::exchange(believed_, std::nullopt), fence_);
  note_asking();
  bool got = false;
  const bool answered =
      tolerate([&] { got = by_reclaim ? lock.reclaim("more work") : lock.lock_try("more work"); });
  // The claim took the hold that was lost for its basis, so its loss was known.
  if (answered) check_told(lock, true);
  if (got) believe(lock);
}

// Each hold that ended: by itself, which is told once, or by its worker's will, which is not.
void Worker::check_told(DistributedLock& lock, bool lost) {
  if (process_.dead()) return;
  if (lost != token_.stop_requested() || (wants_news_ && told_.times != (lost ? 1 : 0))) {
    world_.oracle.violate(
        process_.id() +
        (lost ? " was not told once of the loss of " : " was told of a loss, and had unlocked ") +
        lock.name());
  }
}

void Worker::give_up(DistributedLock& lock) {
  if (!believed_ || process_.dead()) return;
  const Token ts = *std::exchange(believed_, std::nullopt);
  world_.oracle.gave_up(ts, fence_);
  const int pauses = process_.pauses();
  const Time asked = world_.scheduler.now();
  const bool was_lost = !lock.held();
  const SteadyTime until = lock.valid_until();
  const UnlockResult result = random_.chance(0.5) ? lock.unlock() : lock.unlock(ts);
  if (process_.dead()) return;
  // Its deadline may have passed, or its loss been noticed, in the middle of the unlock.
  check_told(lock, was_lost || lock.lost());
  const bool in_time = process_.clock().steady_at_this_moment() < until;
  world_.oracle.unlocked(lock_name_, ts, fence_, {result, in_time});
  const Time most = slowness() * 3 * Time{world_.setup.call_limit} + std::chrono::seconds{7};
  if (process_.pauses() == pauses && world_.scheduler.now() > asked + most) {
    world_.oracle.violate("unlock of " + lock_name_ + " took too long");
  }
  if (result == UnlockResult::released) process_.has_unlocked(lock_name_);
}

void Worker::in_a_forked_child(DistributedLock& lock) {
  if (lock.held()) world_.faults.mattered(Fault::fork);
  const ForkedChild child;
  const auto refused = [&](const auto& operation) {
    try {
      operation();
    } catch (const Error& error) {
      return error.errc() == Errc::forked;
    }
    return false;
  };
  const bool inert = !lock.held() && lock.unlock() == UnlockResult::not_ours &&
                     refused([&] { static_cast<void>(lock.lock_try("child")); }) &&
                     refused([&] { static_cast<void>(lock.still_held()); }) &&
                     refused([&] { lock.check(); });
  process_.pinger()->ping_round();
  process_.pinger()->stop();
  if (!inert) world_.oracle.violate("a forked child of " + process_.id() + " is not inert");
}

}  // namespace distlock::sim
