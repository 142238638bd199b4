#include "cli/view_cells.h"

#include <algorithm>

#include "cli/duration.h"
#include "cli/time_text.h"
#include "saturating.h"
#include "text.h"

namespace distlock::cli {

const char* state_text(LockState state) {
  switch (state) {
    case LockState::free:
      return "free";
    case LockState::taken:
      return "taken";
    case LockState::taken_by_mongodb:
      return "taken (MongoDB)";
  }
  return "";
}

std::string rounded_text(std::chrono::milliseconds duration) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(duration);
  return duration_text(whole.count() == 0 ? duration : std::chrono::milliseconds(whole));
}

std::string age_text(StoreTime then, StoreTime now) {
  return rounded_text(saturating_difference(now, then));
}

std::chrono::milliseconds time_since(StoreTime then, StoreTime now) {
  return std::max(saturating_difference(now, then), std::chrono::milliseconds{0});
}

std::string since_text(const LockRecord& lock, const std::optional<StoreNow>& now) {
  if (!lock.when) return "-";
  std::string text = iso8601(*lock.when);
  if (now && lock.taken()) text += " (" + age_text(*lock.when, now->time) + ")";
  return text;
}

std::string holder_text(const Holder& holder) {
  if (holder.host.empty()) return "-";
  return escaped(holder.user ? *holder.user + '@' + holder.host : holder.host);
}

namespace {

std::string in_words(const Holder& holder) {
  std::string text = holder_text(holder);
  if (!holder.process_number) return text;
  return text + ", process " + std::to_string(*holder.process_number);
}

}  // namespace

std::string holder_in_words(const LockRecord& lock) { return in_words(holder_of(lock)); }

std::string place_text(std::size_t place) {
  const std::size_t number = place + 1;
  const bool teen = number % 100 / 10 == 1;
  const std::size_t last = teen ? 0 : number % 10;
  const char* const ending = last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
  return std::to_string(number) + ending;
}

std::string waiter_in_words(const LockRecord& lock, std::size_t place, const StoreNow& now) {
  const Waiter& waiter = lock.line[place];
  std::string text = place_text(place) + ": " + in_words(holder_of(waiter)) + ", for " +
                     rounded_text(time_since(waiter.since, now.time));
  if (waiter.passed_over)
    text += ", passed over " + rounded_text(time_since(*waiter.passed_over, now.time)) + " ago";
  return text;
}

Cell ping_cell(const LockView& lock, const StoreNow& now, bool verbose) {
  if (lock.takeover.how == Takeover::How::malformed_ping) return {"malformed", Style::bad};
  if (!lock.ping) return {"none", Style::bad};
  const StoreNow& by = lock.now ? *lock.now : now;
  // Times of two clocks are not compared (R4).
  if (lock.ping->clock && *lock.ping->clock != by.clock) {
    return {verbose ? "by another clock" : "-", Style::plain};
  }
  return {age_text(lock.ping->ping, by.time) + (verbose ? " ago" : ""), Style::plain};
}

namespace {

Cell takeover_cell(const Takeover& takeover, bool verbose) {
  switch (takeover.how) {
    case Takeover::How::not_needed:
      return {"-", Style::dim};
    case Takeover::How::now:
      return {"now", Style::good};
    case Takeover::How::later:
      return {"in " + rounded_text(takeover.in), Style::plain};
    case Takeover::How::by_watching:
      return {(verbose ? "by watching for " : "watch ") + rounded_text(takeover.window),
              Style::plain};
    case Takeover::How::never:
      return {verbose ? "never by itself: distlock break" : "never", Style::bad};
    case Takeover::How::clock_skew:
      return {verbose ? "no: clock skew" : "no: skew", Style::bad};
    case Takeover::How::malformed_ping:
      return {verbose ? "no: malformed ping" : "no: ping", Style::bad};
  }
  return {};
}

}  // namespace

Cell takeover_cell(const LockView& lock, bool verbose) {
  Cell cell = takeover_cell(lock.takeover, verbose);
  const Cell own = takeover_cell(lock.by_own_window, verbose);
  if (!verbose || own.text == cell.text) return cell;
  cell.text += " for a window of " + duration_text(lock.takeover.window) + "; " + own.text +
               " for the holder's own of " + duration_text(lock.by_own_window.window);
  return cell;
}

}  // namespace distlock::cli
