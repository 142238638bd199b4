#include <algorithm>

#include "distlock/error.h"
#include "distlock/members.h"
#include "sim/nemesis.h"

// A member loses its data and comes back, and a process stands still that has freed a lock or is
// about to. Another process gets the lock, with the member. Then the member has its data of before
// again, and the first process goes on: with what it has freed it could get the lock from the rest.
namespace distlock::sim {

void Nemesis::undo_returns() {
  Scheduler& scheduler = world_.scheduler;
  world_.oracle.on_grant([this](const Belief& belief) { note_grant(belief); });
  while (!ended_ && scheduler.now() < world_.setup.horizon) {
    const auto& all = world_.processes;
    SimProcess& process = *all[random_of_returns_.below(all.size())];
    next_hold_is_kept_ = random_of_returns_.chance(0.5);
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
    const auto is_held = [&](const auto& one) {
      return stored_lock(one->servers.tables().raw_lock(name)).taken;
    };
    if (std::any_of(members.begin(), members.end(), is_held)) return false;
  }
  return true;
}

void Nemesis::begin_return(SimProcess& process, const std::string& lock) {
  const Time now = world_.scheduler.now();
  if (is_under_way()) return;
  world_.tell_majorities();
  std::vector<SimProcess*> others;
  for (const auto& one : world_.processes) {
    if (one.get() != &process && one->alive() && !one->ending()) others.push_back(one.get());
  }
  if (others.empty() || gone() > 0 || !nothing_is_held()) return;
  world_.faults.note(Fault::return_undone);
  const std::size_t number = random_of_returns_.below(world_.members.size());
  const MemoryTables& data = world_.members[number]->servers.tables();
  ++returns_begun_;
  return_ =
      Return{&process, lock, number, data, world_.identity_of(number)->token, now + window() / 2};
  exchange(number, {});
  SimProcess& by = *others[random_of_returns_.below(others.size())];
  world_.scheduler.spawn(group_, "operator",
                         [this, &by, begun = returns_begun_] { take_back(by, begun); });
  stand_still(process);
}

// Its pinger for longer than the rest of it.
void Nemesis::stand_still(SimProcess& process) {
  const Time now = world_.scheduler.now();
  return_->until = now + window() / 2;
  process.pause_pinger(return_->until);
  process.pause(std::min(return_->until, now + 3 * Time{world_.setup.pinger.ping_every}));
  world_.scheduler.yield();
}

bool Nemesis::is_under_way() const {
  const bool over = !return_ || world_.scheduler.now() >= return_->until;
  return !over || !world_.faults.enabled(Fault::return_undone);
}

void Nemesis::take_back(SimProcess& by, int begun) {
  if (begun != returns_begun_) return;
  const std::size_t number = return_->member;
  try {
    if (!by.members()->readmit(number) || begun != returns_begun_) return;
  } catch (const Error&) {
    return;
  }
  return_->is_back = true;
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

// The middle member loses its data, and what it lost has this hold. When it is back, the hold is
// freed: on half of the members, before its process stands still.
void Nemesis::begin_return_of_hold(const Belief& belief) {
  const Time now = world_.scheduler.now();
  const std::size_t number = world_.members.size() / 2;
  const Servers& member = world_.members[number]->servers;
  const auto& all = world_.processes;
  const auto holder = std::find_if(all.begin(), all.end(), [&](const auto& one) {
    return one->id() == belief.process && one->alive();
  });
  world_.tell_majorities();
  if (is_under_way() || gone() > 0 || holder == all.end()) return;
  const StoredLock stored = stored_lock(member.tables().raw_lock(belief.lock));
  if (!stored.taken || stored.ts != belief.ts) return;
  next_hold_is_kept_ = false;
  world_.faults.note(Fault::return_undone);
  SimProcess& process = **holder;
  ++returns_begun_;
  return_ = Return{
      &process,          belief.lock, number, member.tables(), world_.identity_of(number)->token,
      now + 4 * window()};
  exchange(number, {});
  process.hold_on();
  world_.scheduler.spawn(group_, "nemesis of a hold",
                         [this, &process, number] { wait_for_return(process, number); });
}

void Nemesis::wait_for_return(SimProcess& process, std::size_t number) {
  const Servers& member = world_.members[number]->servers;
  const int begun = returns_begun_;
  const Time end = std::min(world_.setup.horizon, return_->until);
  const auto is_back = [&] {
    return world_.counts(number) && member.tables().raw_ping(process.id()).has_value();
  };
  while (process.alive() && !is_back() && world_.scheduler.now() < end) {
    world_.scheduler.rest_until(world_.scheduler.now() + Time{world_.setup.pinger.ping_every} / 16);
  }
  if (is_back()) {
    process.before_release_at(number, [this, &process, begun] {
      if (!return_ || begun != returns_begun_) return;
      return_->is_back = true;
      stand_still(process);
    });
  }
  process.let_go();
}

void Nemesis::note_grant(const Belief& belief) {
  if (next_hold_is_kept_) begin_return_of_hold(belief);
  if (!return_ || !return_->is_back || world_.scheduler.now() >= return_->until) return;
  if (belief.lock != return_->lock || belief.process == return_->process->id()) return;
  const Return undone = *std::exchange(return_, std::nullopt);
  const Time until = world_.scheduler.now() + 2 * stop();
  undone.process->pause_pinger(until);
  undone.process->pause(until);
  when_stopped(undone.member, [this, undone] { undo(undone); });
}

void Nemesis::undo(const Return& undone) {
  if (!world_.counts(undone.member) || is_one_too_many(undone.member)) return;
  // Nobody could tell earlier data of the same life.
  if (world_.identity_of(undone.member)->token == undone.identity) return;
  world_.faults.mattered(Fault::return_undone);
  exchange(undone.member, undone.data);
  undone.process->go_on();
}

}  // namespace distlock::sim
