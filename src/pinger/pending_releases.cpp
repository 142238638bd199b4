#include "pinger/pending_releases.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <new>

#include "distlock/line.h"
#include "failure.h"
#include "log.h"

namespace distlock {
namespace {

bool are_of_one_ticket(const PendingRelease& one, const PendingRelease& other) {
  return one.ts == other.ts && one.name == other.name;
}

auto find(std::vector<PendingRelease>& all, const PendingRelease& wanted) {
  return std::find_if(all.begin(), all.end(),
                      [&](const PendingRelease& one) { return are_of_one_ticket(one, wanted); });
}

// The place of a hold comes after that hold.
bool is_for_ringer(const PendingRelease& one) { return one.for_ringer && !one.hold; }

}  // namespace

void PendingReleases::add(std::string_view name, const Token& ts,
                          SteadyTime settled_after) noexcept {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  try {
    merge({.name = std::string(name), .ts = ts, .hold = true, .settled_after = settled_after});
  } catch (const std::bad_alloc&) {
    left_one_ = true;
  }
}

void PendingReleases::add_place(std::string_view name, const Token& ticket,
                                LeaveIn round) noexcept {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  const bool for_ringer = round == LeaveIn::a_ring_round;
  try {
    merge({.name = std::string(name), .ts = ticket, .place = true, .for_ringer = for_ringer});
  } catch (const std::bad_alloc&) {
  }
}

void PendingReleases::settle_place(std::string_view name, const Token& ticket) noexcept {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  std::erase_if(releases_, [&](const PendingRelease& one) {
    return one.ts == ticket && one.name == name && !one.hold;
  });
}

void PendingReleases::merge(PendingRelease release) {
  const auto known = find(releases_, release);
  if (known == releases_.end()) {
    releases_.push_back(std::move(release));
    return;
  }
  known->hold = known->hold || release.hold;
  known->place = known->place || release.place;
  known->for_ringer = known->for_ringer || release.for_ringer;
  known->settled_after = std::max(known->settled_after, release.settled_after);
}

std::size_t PendingReleases::count() const {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  return releases_.size() + (left_one_ ? 1 : 0);
}

bool PendingReleases::contains(const Token& ts) const {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  return std::any_of(releases_.begin(), releases_.end(),
                     [&](const PendingRelease& one) { return one.ts == ts; });
}

bool PendingReleases::frees(const Token& ts) const {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  return std::any_of(releases_.begin(), releases_.end(),
                     [&](const PendingRelease& one) { return one.ts == ts && one.hold; });
}

void PendingReleases::work_off(const Environment& environment, Ringer& ringer, ChoreTime& time,
                               std::optional<std::string_view> of_lock) {
  std::vector<PendingRelease> tried;
  {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    tried = releases_;
  }
  for (const PendingRelease& release : tried) {
    if (of_lock && release.name != *of_lock) continue;
    if (!time.for_a_call()) return;
    const Outcome outcome = try_one(release, environment, ringer, time);
    if (outcome == Outcome::settled) {
      settle(release);
    } else {
      put_last(release, outcome);
    }
  }
}

// An answer is no end of it while a request may still arrive: there may be several of one ticket.
PendingReleases::Outcome PendingReleases::try_one(const PendingRelease& release,
                                                  const Environment& environment, Ringer& ringer,
                                                  ChoreTime& time) {
  const SteadyTime asked = environment.clock->steady_now();
  const bool is_last = asked >= release.settled_after;
  try {
    if (release.hold) {
      (void)ringer.release(release.name, release.ts, ReleaseRule::durable, time.limit(),
                           RingBy::a_round);
    }
    if (release.place) {
      if (release.hold && !time.for_a_call()) return is_last ? Outcome::freed : Outcome::kept;
      environment.store->line()->leave(release.name, release.ts);
    }
    return is_last ? Outcome::settled : Outcome::kept;
  } catch (...) {
    const Failure failure = current_failure();
    if (!release.hold) {
      log::place_not_given_up(release.name, failure.what);
    } else if (!release.failure_logged) {
      log::pending_release_failed(release.name, failure.what);
    }
    return Outcome::failed;
  }
}

void PendingReleases::put_last(const PendingRelease& release, Outcome outcome) {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  const auto at = find(releases_, release);
  if (at == releases_.end()) return;
  at->failure_logged = at->failure_logged || outcome == Outcome::failed;
  // Unless it was added again meanwhile, with more to wait for.
  if (outcome == Outcome::freed && at->settled_after <= release.settled_after) at->hold = false;
  std::rotate(at, at + 1, releases_.end());
}

void PendingReleases::settle(const PendingRelease& release) {
  {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    // A release that was added again meanwhile, and has more to do, stays.
    std::erase_if(releases_, [&](const PendingRelease& one) {
      return are_of_one_ticket(one, release) && one.settled_after <= release.settled_after &&
             one.place == release.place && one.hold == release.hold;
    });
  }
  if (release.hold) log::pending_release_settled(release.name);
}

bool PendingReleases::leave_next(const Environment& environment, Ringer& ringer, ChoreTime& time) {
  if (!more_for_ringer() || !time.for_a_call()) return false;
  const auto left = take_for_ringer();
  if (!left) return false;
  const Outcome outcome = try_one(*left, environment, ringer, time);
  if (outcome == Outcome::settled) {
    settle(*left);
  } else {
    leave_to_ping_rounds();
  }
  return more_for_ringer();
}

std::optional<PendingRelease> PendingReleases::take_for_ringer() {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  const auto at = std::find_if(releases_.begin(), releases_.end(), is_for_ringer);
  if (at == releases_.end()) return std::nullopt;
  std::optional<PendingRelease> taken(*at);
  at->for_ringer = false;
  return taken;
}

bool PendingReleases::more_for_ringer() const {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  return std::any_of(releases_.begin(), releases_.end(), is_for_ringer);
}

void PendingReleases::leave_to_ping_rounds() {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  for (PendingRelease& one : releases_) one.for_ringer = false;
}

}  // namespace distlock
