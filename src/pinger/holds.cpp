#include "pinger/holds.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <utility>

#include "distlock/error.h"
#include "thread_number.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

void Holds::enlist(const std::shared_ptr<Hold>& hold, const Token& claiming) {
  auto announcement = std::make_unique<Announcement>();
  std::list<Loss> loss{{hold->name, LossReason::deadline_passed}};
  const Guard lock(mutex_);
  if (closed_) {
    throw Error(Errc::stopped, "the pinger was stopped: nothing would keep a hold alive");
  }
  hold->claiming = claiming;
  hold->announcement = std::move(announcement);
  hold->loss = std::move(loss);
  if (hold->number == 0) hold->number = ++numbered_;
  enlisted_.emplace(hold->number, hold);
}

bool Holds::begin(Hold& hold, const Token& ts, const std::vector<Token>& members, SteadyTime now,
                  bool of_a_block) {
  std::stop_source changed(std::nostopstate);
  {
    const Guard lock(mutex_);
    hold.thread = this_thread_number();
    hold.of_a_block = of_a_block;
    // On a mirrored store alone.
    if (!members.empty()) {
      // Takes no memory: nobody else knows of the grant yet.
      hold.deadlines = std::exchange(hold.claim_deadlines, {});
      hold.deadlines.keep_only(members);
      hold.claim_validity.begin_until(hold.deadlines.until());
    }
    hold.validity.begin_as(hold.claim_validity);
    hold.claim_validity.end();
    // Read once, and before: whoever asks held() may end it at any moment.
    const SteadyTime until = hold.validity.until();
    const bool in_time = !hold.validity.over(now);
    // Where the release of what came too late is undone, it is a stray hold.
    if (hold.ts != ts) add_given_up(hold.ts);
    if (!in_time) add_given_up(ts);
    hold.ts = in_time ? ts : Token{};
    if (!in_time) return false;
    hold.active = true;
    hold.risk_told = false;
    hold.lost.reset();
    hold.stop = std::stop_source(std::nostopstate);
    if (until - hold.validity_span / 2 < next_) changed = changed_;
  }
  changed.request_stop();
  return true;
}

void Holds::begin_claim(Hold& hold, const std::vector<MemberPing>& pings, std::size_t majority) {
  const Guard lock(mutex_);
  hold.claim_deadlines.begin(pings, majority, hold.validity_span);
}

void Holds::note_terms(Hold& hold, const GrantedTerms& terms) {
  const Guard lock(mutex_);
  hold.terms = terms;
}

void Holds::keep_known(Hold& hold, const Token& ts) {
  const Guard lock(mutex_);
  hold.ts = ts;
}

void Holds::forget(Hold& hold) {
  const Guard lock(mutex_);
  add_given_up(hold.ts);
  hold.ts = {};
}

void Holds::add_given_up(const Token& ts) noexcept {
  if (ts == Token{}) return;
  given_up_[given_up_next_] = ts;
  given_up_next_ = (given_up_next_ + 1) % given_up_.size();
}

void Holds::note_given_up(const Token& ts) noexcept {
  const Guard lock(mutex_);
  add_given_up(ts);
}

bool Holds::gave_up(const Token& ts) const {
  if (ts == Token{}) return false;
  const Guard lock(mutex_);
  const bool is_had = std::any_of(enlisted_.begin(), enlisted_.end(), [&](const auto& entry) {
    return entry.second->ts == ts || entry.second->claiming == ts;
  });
  return !is_had && std::find(given_up_.begin(), given_up_.end(), ts) != given_up_.end();
}

SteadyTime Holds::retire(const std::shared_ptr<Hold>& hold, SteadyTime now) {
  Announcements to_tell;
  SteadyTime until;
  {
    const Guard lock(mutex_);
    until = hold->validity.until();
    if (hold->active && hold->validity.over(now)) end(hold, LossReason::deadline_passed, to_tell);
    hold->active = false;
    hold->validity.end();
    announcer_->add(to_tell);
  }
  announcer_->tell_on_caller();
  return until;
}

void Holds::delist(const std::shared_ptr<Hold>& hold) {
  const Guard lock(mutex_);
  hold->active = false;
  hold->validity.end();
  hold->claim_validity.end();
  // If its release is undone, the hold is a stray from now on, even while this object claims anew.
  add_given_up(hold->ts);
  hold->ts = {};
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

// With the mutex, once the deadline may have moved on from `before`. True: the watch sleeps for
// longer than until the hold is at risk again.
bool Holds::moves_on(Hold& hold, SteadyTime before) const {
  const SteadyTime until = hold.validity.until();
  if (until <= before) return false;
  hold.risk_told = false;
  return until - hold.validity_span / 2 < next_;
}

void Holds::extend(SteadyTime sent, SteadyTime confirmed) {
  std::stop_source changed(std::nostopstate);
  {
    const Guard lock(mutex_);
    for (const auto& [number, hold] : enlisted_) {
      hold->claim_validity.extend(sent, confirmed);
      if (!hold->active) continue;
      const SteadyTime before = hold->validity.until();
      hold->validity.extend(sent, confirmed);
      if (moves_on(*hold, before)) changed = changed_;
    }
  }
  changed.request_stop();
}

void Holds::extend(const std::vector<MemberPing>& pings, SteadyTime confirmed) {
  std::stop_source changed(std::nostopstate);
  {
    const Guard lock(mutex_);
    for (const auto& [number, hold] : enlisted_) {
      hold->claim_deadlines.extend(pings, hold->validity_span);
      if (!hold->active) continue;
      const SteadyTime before = hold->validity.until();
      hold->deadlines.extend(pings, hold->validity_span);
      hold->validity.extend_to(hold->deadlines.until(), confirmed);
      if (moves_on(*hold, before)) changed = changed_;
    }
  }
  changed.request_stop();
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
  // A callback may destroy the last lock.
  const auto announcer = announcer_;
  {
    Announcements to_tell;
    const Guard lock(mutex_);
    const auto hold = present(lost);
    if (!hold) return;
    end(hold, reason, to_tell);
    announcer->add(to_tell);
  }
  announcer->tell_on_caller();
}

// Takes no memory, so that no hold ends untold for want of it.
void Holds::end(const std::shared_ptr<Hold>& hold, LossReason reason,
                Announcements& to_tell) noexcept {
  hold->active = false;
  hold->validity.end();
  hold->lost = reason;
  hold->loss.front().reason = reason;
  unlogged_.splice(unlogged_.end(), hold->loss);
  if (!hold->stop.stop_possible() && !hold->on_lost) return;
  Announcement& announcement = *hold->announcement.release();
  announcement.to = {hold, &hold->listener};
  announcement.stop = hold->stop;
  announcement.reason = reason;
  announcement.on_lost = hold->on_lost;
  to_tell.push_back(announcement);
}

std::list<Loss> Holds::take_unlogged() {
  const Guard lock(mutex_);
  return std::exchange(unlogged_, {});
}

std::optional<LossReason> Holds::lost(const Hold& hold) const {
  const Guard lock(mutex_);
  return hold.lost;
}

void Holds::on_lost(Hold& hold, OnLost callback) {
  auto changed = callback ? std::make_shared<const OnLost>(std::move(callback)) : nullptr;
  const Guard lock(mutex_);
  hold.on_lost.swap(changed);
}

void Holds::on_at_risk(Hold& hold, OnAtRisk callback) {
  auto changed = callback ? std::make_shared<const OnAtRisk>(std::move(callback)) : nullptr;
  const Guard lock(mutex_);
  hold.on_at_risk.swap(changed);
}

std::stop_token Holds::stop_token(Hold& hold) {
  std::stop_source made;
  const Guard lock(mutex_);
  if (!hold.stop.stop_possible()) {
    hold.stop = std::move(made);
    // The loss found nobody to tell.
    if (hold.lost) hold.stop.request_stop();
  }
  return hold.stop.get_token();
}

void Holds::silence(Hold& hold) {
  if (!announcer_->finish(hold.listener)) return;
  std::shared_ptr<const OnLost> on_lost;
  std::shared_ptr<const OnAtRisk> on_at_risk;
  const Guard lock(mutex_);
  on_lost.swap(hold.on_lost);
  on_at_risk.swap(hold.on_at_risk);
}

}  // namespace distlock
