#include "cli/countdown.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "cli/duration.h"
#include "cli/looks.h"
#include "distlock/error.h"
#include "protocol/protocol.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

milliseconds longest_silence(const LeaseTimes& times) {
  const PingerOptions pinger{.ping_every = times.ping_every};
  return std::chrono::ceil<milliseconds>(protocol::room_for_pings(pinger, times.call_limit));
}

std::string longest_silence_text(const LeaseTimes& times) {
  const std::string call_limit = " x call limit " + duration_text(times.call_limit);
  if (times.ping_every < times.call_limit) return "3" + call_limit;
  return "--ping-every " + duration_text(times.ping_every) + " + 2" + call_limit;
}

// `end` and `end_text`: what must follow the longest silence.
std::string sum_text(const LeaseTimes& times, milliseconds end, const std::string& end_text) {
  const auto allowance =
      std::chrono::ceil<milliseconds>(protocol::allowance(times.lock, times.call_limit));
  return "--takeover-after " + duration_text(times.lock.takeover_after) + " - allowance " +
         duration_text(allowance) + " = " + duration_text(times.lock.takeover_after - allowance) +
         ", but " + longest_silence_text(times) + end_text + " = " +
         duration_text(longest_silence(times) + end);
}

// The library's options have other names here.
std::string with_names_of_options(std::string text) {
  constexpr std::array kNames{std::pair{"takeover_after", "--takeover-after"},
                              std::pair{"ping_every", "--ping-every"}};
  for (const auto& [name, option] : kNames) {
    for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      text.replace(at, std::string_view(name).size(), option);
    }
  }
  return text;
}

// First of all, for sums overflow where an option is out of range.
void check_ranges(const LeaseTimes& times) try {
  protocol::check_options(times.lock);
  protocol::check_options(PingerOptions{.ping_every = times.ping_every});
} catch (const Error& error) {
  throw Error(error.errc(), with_names_of_options(error.what()));
}

milliseconds time_left_by_pings(const LeaseTimes& times) {
  const auto valid =
      std::chrono::floor<milliseconds>(protocol::validity(times.lock, times.call_limit));
  const milliseconds left = valid - longest_silence(times);
  if (left >= milliseconds{0}) return left;
  throw Error(Errc::invalid_argument,
              "--takeover-after leaves the pings too little time: " + sum_text(times, {}, "") +
                  "; take over later or ping more often");
}

}  // namespace

EndingPlan fitting_plan(const LeaseTimes& times, std::optional<milliseconds> grace,
                        OnLoss on_loss) {
  check_ranges(times);
  const milliseconds margin = std::min(kMarginMost, times.lock.takeover_after / 16);
  // Often enough for the Keeper, which acts without us, to know a fresh deadline.
  const milliseconds look_every = std::max(times.ping_every / 4, milliseconds{1});
  const milliseconds left = time_left_by_pings(times) - margin;
  if (!grace) {
    const milliseconds usual = std::min(kGraceMost, times.lock.takeover_after / 8);
    return {on_loss, std::clamp(left, milliseconds{0}, usual), margin, look_every};
  }
  if (on_loss == OnLoss::terminate && *grace > left) {
    throw Error(Errc::invalid_argument, "--grace leaves the pings too little time: " +
                                            sum_text(times, *grace + margin,
                                                     " + --grace " + duration_text(*grace) +
                                                         " + margin " + duration_text(margin)) +
                                            "; allow less grace or take over later");
  }
  return {on_loss, *grace, margin, look_every};
}

EndingPlan for_nearer_deadlines(EndingPlan plan) {
  plan.look_every = std::min(plan.look_every, std::max(plan.margin / 2, milliseconds{1}));
  return plan;
}

Countdown::Countdown(const EndingPlan& plan, SteadyTime valid_until) : plan_(plan) {
  know(valid_until);
  if (plan_.on_loss == OnLoss::kill) plan_.grace = milliseconds{0};
}

Countdown::Due Countdown::look(SteadyTime now, std::optional<SteadyTime> valid_until) {
  if (plan_.on_loss == OnLoss::ignore) return {Step::wait, SteadyTime::max()};
  const bool beginning = !begun();
  // The keeper has begun to kill: it acts by what we knew last.
  if (beginning && now >= kill_at()) kill_at_ = now;
  if (valid_until) know(*valid_until);
  if (!begun()) {
    const SteadyTime begin_at = last_ - plan_.grace;
    if (valid_until && now < begin_at) {
      return {Step::wait, std::min(begin_at, now + plan_.look_every)};
    }
    kill_at_ = std::min(now + plan_.grace, last_);
  }
  if (now >= *kill_at_) return {Step::kill, now + kKillAgainAfter};
  return {beginning ? Step::terminate : Step::wait, std::min(*kill_at_, now + plan_.look_every)};
}

// It may come nearer without a loss: that of a mirrored store, when a member stops protecting (M5).
void Countdown::know(SteadyTime valid_until) {
  last_ = std::max(valid_until, SteadyTime{}) - plan_.margin;
  if (begun()) kill_at_ = std::min(*kill_at_, last_);
}

SteadyTime Countdown::kill_at() const {
  if (plan_.on_loss == OnLoss::ignore) return SteadyTime::max();
  return kill_at_.value_or(last_ + plan_.margin / 8);
}

}  // namespace distlock::cli
