#include "pinger/overview.h"

#include <boost/thread/lock_guard.hpp>
#include <set>
#include <utility>

#include "distlock/error.h"
#include "distlock/line.h"
#include "log.h"
#include "sound.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

std::vector<std::string> locks_of(const std::vector<deadlock::Hidden>& waits) {
  std::set<std::string> names;
  for (const deadlock::Hidden& wait : waits) names.insert(wait.lock);
  return {names.begin(), names.end()};
}

}  // namespace

// Ends the look, whichever way it is left.
struct Overviews::Looking {
  ~Looking() {
    const Guard lock(of.mutex_);
    of.newest_ = seen;
    of.looking_ = false;
  }
  Overviews& of;
  std::shared_ptr<const Overview> seen;
};

Overviews::Overviews(std::shared_ptr<Store> store, std::string process, MakeGivenUp given_up,
                     HolderOf holder_of, ThoseBehind those_behind)
    : store_(std::move(store)),
      process_(std::move(process)),
      given_up_(std::move(given_up)),
      holder_of_(std::move(holder_of)),
      those_behind_(std::move(those_behind)) {}

std::shared_ptr<const Overview> Overviews::get(SteadyTime since, Clock& clock) {
  {
    const Guard lock(mutex_);
    std::shared_ptr<const Overview> known = newest_.lock();
    if (known && known->begun >= since) return known;
    if (std::exchange(looking_, true)) return nullptr;
  }
  Looking looking{*this, nullptr};
  looking.seen = look(clock);
  return looking.seen;
}

std::shared_ptr<const Overview> Overviews::look(Clock& clock) {
  const auto seen = std::make_shared<Overview>();
  seen->begun = clock.steady_now();
  try {
    Listing all = store_->line()->list_waits(locks_of(those_behind_()));
    seen->now = all.now;
    seen->locks = sound(std::move(all.locks));
    seen->pings = sound(std::move(all.pings));
    failures_ = 0;
  } catch (const Error& error) {
    // A single failure may be an outage, which the wait itself tells of.
    if (++failures_ == 2) log::deadlocks_not_seen(error.what());
  }
  seen->had = clock.steady_now();
  leave_out_given_up(seen->locks);
  put_holders_in(seen->locks);
  const std::vector<deadlock::Hidden> behind = those_behind_();
  seen->cycles = deadlock::cycles(seen->locks, behind);
  seen->possible = deadlock::possible_cycles(seen->locks, behind);
  return seen;
}

// Their release is on its way or done, so that nobody waits for them for good.
void Overviews::leave_out_given_up(std::vector<LockRecord>& locks) const {
  const GivenUp given_up = given_up_();
  for (LockRecord& lock : locks) {
    if (lock.process == process_ && lock.ts && given_up(*lock.ts)) lock.state = LockState::free;
    std::erase_if(lock.line, [&](const Waiter& one) {
      return one.process == process_ && given_up(one.ticket);
    });
  }
}

void Overviews::put_holders_in(std::vector<LockRecord>& locks) const {
  for (LockRecord& lock : locks) {
    if (lock.process != process_ || !lock.ts || !lock.taken()) continue;
    if (const auto thread = holder_of_(*lock.ts)) lock.who = *thread + ":0";
  }
}

}  // namespace distlock
