#include <algorithm>

#include "distlock/error.h"
#include "distlock/members.h"
#include "sim/nemesis.h"

// A member loses its data while a process stands still that has just freed a lock. An operator
// takes the member back. Another process gets the lock, with the member, and without a minority of
// the others. Then the member has its data of before again, and the first process goes on: with
// what it has freed it could get the lock from the rest.
namespace distlock::sim {

void Nemesis::undo_returns() {
  Scheduler& scheduler = world_.scheduler;
  world_.oracle.on_grant([this](const Belief& belief) { note_grant(belief); });
  while (!ended_ && scheduler.now() < world_.setup.horizon) {
    const auto& all = world_.processes;
    SimProcess& process = *all[random_of_returns_.below(all.size())];
    process.once_unlocked(
        [this, &process](const std::string& lock) { begin_return(process, lock); });
    scheduler.rest_until(scheduler.now() + random_of_returns_.between(Time{0}, window()));
  }
}

// An operator who takes a member back knows that nobody counts on what it has lost.
bool Nemesis::nothing_is_held() {
  const auto& members = world_.members;
  for (int i = 0; i < world_.setup.locks; ++i) {
    const std::string name = world_.lock_name(static_cast<std::uint64_t>(i));
    if (std::any_of(members.begin(), members.end(),
                    [&](const auto& one) { return one->oracle.now_stored(name).taken; })) {
      return false;
    }
  }
  return true;
}

void Nemesis::begin_return(SimProcess& process, const std::string& lock) {
  const Time now = world_.scheduler.now();
  if (!world_.faults.enabled(Fault::return_undone) || (return_ && now < return_->until)) return;
  std::vector<SimProcess*> others;
  for (const auto& one : world_.processes) {
    if (one.get() != &process && one->alive() && !one->ending()) others.push_back(one.get());
  }
  if (others.empty() || gone() > 0 || !nothing_is_held()) return;
  world_.faults.note(Fault::return_undone);
  const std::size_t number = random_of_returns_.below(world_.members.size());
  const MemoryTables& data = world_.members[number]->servers.tables();
  return_ = Return{&process, lock, number, data, now + window() / 2};
  exchange(number, {});
  SimProcess& by = *others[random_of_returns_.below(others.size())];
  world_.scheduler.spawn(by.group(), by.id() + " operator", [this, &by] { take_back(by); });
  process.pause_pinger(return_->until);
  process.pause(std::min(return_->until, now + 3 * Time{world_.setup.pinger.ping_every}));
  world_.scheduler.yield();
}

void Nemesis::take_back(SimProcess& by) {
  const std::size_t number = return_->member;
  try {
    return_->is_back = by.members()->readmit(number);
  } catch (const Error&) {
    return;
  }
  std::vector<std::size_t> rest;
  for (std::size_t i = 0; i < world_.members.size(); ++i) {
    if (i != number) rest.push_back(i);
  }
  for (std::size_t left = world_.members.size() / 2; left > 0; --left) {
    const auto cut =
        rest.begin() + static_cast<std::ptrdiff_t>(random_of_returns_.below(rest.size()));
    for (const auto& one : world_.processes) {
      if (one.get() != return_->process) one->stores()[*cut]->cut_off(return_->until);
    }
    rest.erase(cut);
  }
}

void Nemesis::note_grant(const Belief& belief) {
  if (!return_ || !return_->is_back || world_.scheduler.now() >= return_->until) return;
  if (belief.lock != return_->lock || belief.process == return_->process->id()) return;
  const Return undone = *std::exchange(return_, std::nullopt);
  const bool last_that_may_go = gone() == world_.members.size() / 2;
  if (!world_.counts(undone.member) || last_that_may_go) return;
  world_.faults.mattered(Fault::return_undone);
  exchange(undone.member, undone.data);
  undone.process->go_on();
}

}  // namespace distlock::sim
