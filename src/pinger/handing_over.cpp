#include <boost/thread/lock_guard.hpp>

#include "pinger/holds.h"
#include "thread_number.h"

// A hold that goes on from one lock object to another (R21), as pings and losses see it.
namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

// In one step, so that a ping or a loss finds it with the one or on its way to the other.
bool Holds::hand_over(Hold& from, Hold& to, const Token& ts, SteadyTime now) {
  const Guard lock(mutex_);
  if (!from.active || from.ts != ts || to.claiming != ts || from.validity.over(now)) return false;
  to.claim_validity.begin_as(from.validity);
  from.active = false;
  from.ts = {};
  from.validity.end();
  return true;
}

std::optional<std::uint64_t> Holds::thread_of(const Token& ts) const {
  const Guard lock(mutex_);
  for (const auto& [number, hold] : enlisted_) {
    if (hold->active && hold->ts == ts) return hold->thread;
  }
  return std::nullopt;
}

std::vector<Token> Holds::blocks_of_this_thread() const {
  const std::uint64_t own = this_thread_number();
  std::vector<Token> blocks;
  const Guard lock(mutex_);
  for (const auto& [number, hold] : enlisted_) {
    if (hold->active && hold->of_a_block && hold->thread == own) blocks.push_back(hold->ts);
  }
  return blocks;
}

// With the mutex: the lock object that has the hold now. On its way to one, it is ended here, so
// that it never begins there.
std::shared_ptr<Hold> Holds::present(const ActiveHold& lost) const {
  for (const auto& [number, hold] : enlisted_) {
    if (hold->name != lost.hold->name) continue;
    if (hold->active && hold->ts == lost.ts) return hold;
    if (!hold->active && hold->claiming == lost.ts) hold->claim_validity.end();
  }
  return nullptr;
}

}  // namespace distlock
