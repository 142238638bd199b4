#include "cli/countdown.h"

#include <algorithm>
#include <string>

#include "cli/duration.h"
#include "distlock/error.h"
#include "protocol/protocol.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

// Whoever escapes a SIGKILL by having just been forked gets the next one so soon.
constexpr milliseconds kKillAgainAfter{20};

milliseconds longest_silence(const Room& room) {
  const PingerOptions pinger{.ping_every = room.ping_every};
  return std::chrono::ceil<milliseconds>(protocol::room_for_pings(pinger, room.call_limit));
}

std::string longest_silence_text(const Room& room) {
  const std::string call_limit = " x call limit " + duration_text(room.call_limit);
  if (room.ping_every < room.call_limit) return "3" + call_limit;
  return "--ping-every " + duration_text(room.ping_every) + " + 2" + call_limit;
}

std::string sum_text(const Room& room, milliseconds grace, milliseconds margin) {
  const auto allowance =
      std::chrono::ceil<milliseconds>(protocol::allowance(room.lock, room.call_limit));
  return "--takeover-after " + duration_text(room.lock.takeover_after) + " - allowance " +
         duration_text(allowance) + " = " + duration_text(room.lock.takeover_after - allowance) +
         ", but " + longest_silence_text(room) + " + --grace " + duration_text(grace) +
         " + margin " + duration_text(margin) + " = " +
         duration_text(longest_silence(room) + grace + margin);
}

}  // namespace

Patience fitting_patience(const Room& room, std::optional<milliseconds> grace, OnLoss on_loss) {
  // First, for the sums below overflow where an option is out of range.
  protocol::check_options(room.lock);
  protocol::check_options(PingerOptions{.ping_every = room.ping_every});
  const milliseconds margin = std::min(kMarginMost, room.lock.takeover_after / 16);
  // Often enough for who acts on the answer without us, the Keeper, to have one that is fresh.
  const milliseconds look_every = std::max(room.ping_every / 4, milliseconds{1});
  const auto valid =
      std::chrono::floor<milliseconds>(protocol::validity(room.lock, room.call_limit));
  const milliseconds left = valid - longest_silence(room) - margin;
  if (!grace) {
    const milliseconds usual = std::min(kGraceMost, room.lock.takeover_after / 8);
    return {on_loss, std::clamp(left, milliseconds{0}, usual), margin, look_every};
  }
  if (on_loss == OnLoss::terminate && *grace > left) {
    throw Error(Errc::invalid_argument,
                "--grace leaves the pings too little time: " + sum_text(room, *grace, margin) +
                    "; allow less grace or take over later");
  }
  return {on_loss, *grace, margin, look_every};
}

Countdown::Countdown(const Patience& patience, SteadyTime valid_until)
    : patience_(patience), last_(std::max(valid_until, SteadyTime{}) - patience.margin) {
  if (patience_.on_loss == OnLoss::kill) patience_.grace = milliseconds{0};
}

Countdown::Due Countdown::look(SteadyTime now, std::optional<SteadyTime> valid_until) {
  if (patience_.on_loss == OnLoss::ignore) return {Step::wait, SteadyTime::max()};
  const bool beginning = !begun();
  if (beginning) {
    if (valid_until) last_ = std::max(last_, *valid_until - patience_.margin);
    const SteadyTime begin_at = last_ - patience_.grace;
    if (valid_until && now < begin_at) {
      return {Step::wait, std::min(begin_at, now + patience_.look_every)};
    }
    kill_at_ = std::min(now + patience_.grace, last_);
  }
  if (now >= *kill_at_) return {Step::kill, now + kKillAgainAfter};
  return {beginning ? Step::terminate : Step::wait, *kill_at_};
}

SteadyTime Countdown::kill_at() const {
  if (patience_.on_loss == OnLoss::ignore) return SteadyTime::max();
  return kill_at_.value_or(last_ + patience_.margin / 8);
}

}  // namespace distlock::cli
