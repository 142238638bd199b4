#include "pinger/holds.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "distlock/error.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

void Holds::enlist(const std::shared_ptr<Hold>& hold, const Token& claiming) {
  const Guard lock(mutex_);
  if (closed_) {
    throw Error(Errc::stopped, "the pinger was stopped: nothing would keep a hold alive");
  }
  hold->claiming = claiming;
  if (hold->number == 0) hold->number = ++numbered_;
  enlisted_.emplace(hold->number, hold);
}

void Holds::begin(Hold& hold, const Token& ts, SteadyTime ping_sent) {
  std::stop_source changed(std::nostopstate);
  {
    const Guard lock(mutex_);
    hold.active = true;
    hold.risk_told = false;
    hold.ts = ts;
    hold.lost.reset();
    if (hold.announcer) hold.announcer->begin();
    hold.validity.begin(ping_sent);
    if (hold.validity.until() - hold.validity_span / 2 < next_) changed = changed_;
  }
  changed.request_stop();
}

void Holds::retire(Hold& hold) {
  const Guard lock(mutex_);
  hold.active = false;
  hold.validity.end();
}

void Holds::delist(const std::shared_ptr<Hold>& hold) {
  const Guard lock(mutex_);
  hold->active = false;
  hold->validity.end();
  enlisted_.erase(hold->number);
}

bool Holds::empty() const {
  const Guard lock(mutex_);
  return enlisted_.empty();
}

std::size_t Holds::active_count() const {
  const Guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      enlisted_.begin(), enlisted_.end(), [](const auto& entry) { return entry.second->active; }));
}

void Holds::close() {
  const Guard lock(mutex_);
  closed_ = true;
}

void Holds::wake_watch() {
  std::stop_source changed(std::nostopstate);
  {
    const Guard lock(mutex_);
    changed = changed_;
  }
  changed.request_stop();
}

void Holds::extend(SteadyTime sent, SteadyTime confirmed) {
  const Guard lock(mutex_);
  for (const auto& [number, hold] : enlisted_) {
    if (!hold->active) continue;
    const SteadyTime before = hold->validity.until();
    hold->validity.extend(sent, confirmed);
    if (hold->validity.until() > before) hold->risk_told = false;
  }
}

std::vector<ActiveHold> Holds::active() const {
  const Guard lock(mutex_);
  std::vector<ActiveHold> holds;
  for (const auto& [number, hold] : enlisted_) {
    if (hold->active) holds.push_back({hold, hold->ts});
  }
  return holds;
}

std::vector<Token> Holds::known() const {
  std::vector<Token> tokens;
  {
    const Guard lock(mutex_);
    tokens.reserve(2 * enlisted_.size());
    for (const auto& [number, hold] : enlisted_) {
      tokens.push_back(hold->ts);
      tokens.push_back(hold->claiming);
    }
  }
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

void Holds::lose(const ActiveHold& lost, LossReason reason) {
  std::shared_ptr<Announcer> to;
  {
    const Guard lock(mutex_);
    Hold& hold = *lost.hold;
    if (!hold.active || hold.ts != lost.ts) return;
    end(hold, reason);
    to = hold.announcer;
  }
  if (to) to->lost(reason);
}

void Holds::end(Hold& hold, LossReason reason) {
  hold.active = false;
  hold.validity.end();
  hold.lost = reason;
  unlogged_.emplace_back(hold.name, reason);
}

std::vector<std::pair<std::string, LossReason>> Holds::take_unlogged() {
  const Guard lock(mutex_);
  return std::exchange(unlogged_, {});
}

std::optional<LossReason> Holds::lost(const Hold& hold) const {
  const Guard lock(mutex_);
  return hold.lost;
}

std::shared_ptr<Announcer> Holds::announcer(Hold& hold) {
  const Guard lock(mutex_);
  if (!hold.announcer) {
    hold.announcer = std::make_shared<Announcer>(hold.name, announce_on_);
    // The loss found nobody to tell.
    if (hold.lost) hold.announcer->begin_lost();
  }
  return hold.announcer;
}

std::shared_ptr<Announcer> Holds::announcer_if_any(const Hold& hold) const {
  const Guard lock(mutex_);
  return hold.announcer;
}

Holds::Due Holds::announce_due(SteadyTime now) {
  std::vector<Announcement> announcements;
  Due due{SteadyTime::max(), {}};
  {
    const Guard lock(mutex_);
    for (const auto& [number, hold] : enlisted_) {
      if (hold->active) due.next = std::min(due.next, judge(*hold, now, announcements));
    }
    next_ = due.next;
    changed_ = std::stop_source{};
    due.changed = changed_.get_token();
  }
  for (const Announcement& announcement : announcements) {
    if (announcement.at_risk_until) {
      announcement.to->at_risk(*announcement.at_risk_until);
    } else {
      announcement.to->lost(LossReason::deadline_passed);
    }
  }
  return due;
}

// When to look at this hold again.
SteadyTime Holds::judge(Hold& hold, SteadyTime now, std::vector<Announcement>& announcements) {
  const SteadyTime until = hold.validity.until();
  if (hold.validity.over(now)) {
    end(hold, LossReason::deadline_passed);
    if (hold.announcer) announcements.push_back({hold.announcer, std::nullopt});
    return SteadyTime::max();
  }
  const SteadyTime at_risk = until - hold.validity_span / 2;
  if (now < at_risk) return at_risk;
  if (!hold.risk_told && hold.announcer) announcements.push_back({hold.announcer, until});
  hold.risk_told = true;
  return until;
}

}  // namespace distlock
