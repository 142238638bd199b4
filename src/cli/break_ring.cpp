#include "cli/break_ring.h"

#include <algorithm>
#include <utility>

#include "distlock/error.h"
#include "distlock/line.h"
#include "turns.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

// All places of a line are open by then.
constexpr milliseconds kWholeLine{1000};
// A waiter that is there has mostly claimed by then.
constexpr milliseconds kClaimed{5};
// So long from one look to the next at least.
constexpr milliseconds kStep{5};

}  // namespace

ReleaseResult RingingRelease::release() {
  Line* const line = opened_.store.line();
  if (line == nullptr) return opened_.store.release(hold_.name, *hold_.ts);
  Freed freed = line->release_and_tell(hold_.name, *hold_.ts, ReleaseRule::durable);
  if (freed.result != ReleaseResult::freed) return freed.result;
  all_told_ = freed.then.empty();
  if (!all_told_) freed.next.push_back(std::move(freed.then));
  ring(std::move(freed.next));
  return freed.result;
}

void RingingRelease::follow() {
  Clock& clock = opened_.clock;
  const SteadyTime begun = clock.steady_now();
  const SteadyTime until = begun + kWholeLine;
  SteadyTime next = begun + kClaimed;
  while (!all_told_ && next < until && clock.wait_until(next, {})) next = ring_for_the_next(until);
}

// A waiter that is not told finds out by looking.
void RingingRelease::ring(std::vector<std::string> processes) {
  told_.insert(told_.end(), processes.begin(), processes.end());
  try {
    if (!processes.empty()) opened_.store.line()->ring(hold_.name, processes);
  } catch (const Error&) {
    // The release has taken effect all the same.
  }
}

// When to look again.
SteadyTime RingingRelease::ring_for_the_next(SteadyTime until) {
  const auto now = [&] { return opened_.clock.steady_now(); };
  const auto told = [&](const std::string& process) {
    return std::find(told_.begin(), told_.end(), process) != told_.end();
  };
  try {
    const Inspection seen = opened_.store.inspect(hold_.name, Freshness::ordinary);
    const auto& lock = seen.lock;
    if (!lock || lock->taken() || lock->ts != hold_.ts || !lock->freed_at) return until;
    if (now() >= until) return until;
    line::Turns turns = line::turns_in(lock->line, *lock->freed_at, seen.now->time);
    std::erase_if(turns.now, told);
    ring(std::move(turns.now));
    all_told_ = std::all_of(lock->line.begin(), lock->line.end(),
                            [&](const Waiter& waiter) { return told(waiter.process); });
    return now() + std::clamp(turns.then_in, kStep, kWholeLine);
  } catch (const Error&) {
    // The store may answer again in a turn.
    return now() + line::kTurn;
  }
}

}  // namespace distlock::cli
