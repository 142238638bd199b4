#include "cli/break_wait.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "cli/countdown.h"
#include "cli/duration.h"
#include "cli/view_cells.h"
#include "distlock/error.h"
#include "failure.h"
#include "text.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookMost = std::chrono::seconds{1};

LockOptions contender(const LockRecord& hold) {
  LockOptions options;
  if (hold.takeover_after) {
    options.takeover_after = std::max(*hold.takeover_after, milliseconds{1});
  }
  // Without a ping that can be judged, the window is watched.
  options.missing_ping = MissingPing::expire_from_when;
  return options;
}

const Listed<PingRecord>* find(const Listing& listing, const std::string& process) {
  const auto found =
      std::find_if(listing.pings.begin(), listing.pings.end(),
                   [&](const auto& ping) { return ping.named && ping.id == process; });
  return found == listing.pings.end() ? nullptr : &*found;
}

std::string text_of(BrokenHold::End end) {
  switch (end) {
    case BrokenHold::End::gone:
      return "its holder has ended";
    case BrokenHold::End::noticed:
      return "its holder has noticed; the process still runs";
    case BrokenHold::End::silent:
      return "its holder has been silent for its window: its deadline has passed";
  }
  return "";
}

// Nothing while the store does not answer.
std::optional<BrokenHold::End> look(BrokenHold& broken, const OpenedStore& opened, bool& told,
                                    std::ostream& err) {
  try {
    const auto [listing, span] = timed(opened.clock, [&] { return opened.store.list(); });
    return broken.look(listing, span);
  } catch (const Error& error) {
    if (!may_pass(error)) throw;
    if (!std::exchange(told, true)) {
      err << "distlock: " << error.what() << "; looking again\n" << std::flush;
    }
    return std::nullopt;
  }
}

}  // namespace

std::optional<milliseconds> acts_at_most(const LockView& lock) {
  if (!lock.record->takeover_after) return std::nullopt;
  if (lock.by_own_window.how == Takeover::How::now) return milliseconds{0};
  if (lock.by_own_window.how == Takeover::How::later) return lock.by_own_window.in;
  return *lock.record->takeover_after;
}

BrokenHold::BrokenHold(const LockView& shown)
    : hold_(*shown.record),
      had_ping_(shown.takeover.how != Takeover::How::never),
      pings_with_a_look_(protocol::pings_until_noticed(!hold_.members.empty())),
      options_(contender(hold_)) {}

milliseconds BrokenHold::pause() const {
  return std::clamp(options_.takeover_after / 16, milliseconds{1}, kLookMost);
}

std::optional<BrokenHold::End> BrokenHold::look(const Listing& listing, const LocalSpan& span) {
  const Listed<PingRecord>* const listed = find(listing, hold_.process);
  if (listed == nullptr && had_ping_) return End::gone;
  const auto ping = listed == nullptr ? std::nullopt : listed->record;
  const Inspection seen{.lock = hold_, .ping = ping, .now = listing.now, .fresh = true};
  if (is_silent(seen, span)) return End::silent;
  if (!ping) return std::nullopt;
  had_ping_ = true;
  return after_pings(*ping, span.received);
}

// Where the clocks of store and host disagree, a contender refuses (R5). Our own watch of a whole
// window needs neither of them.
bool BrokenHold::is_silent(const Inspection& seen, const LocalSpan& span) {
  LockOptions watching = options_;
  watching.takeover_rule = TakeoverRule::watched;
  const auto dead = [&](const LockOptions& options) {
    const auto judged = protocol::judge(seen, span, false, options, watch_);
    return judged.verdict == protocol::Verdict::dead;
  };
  return dead(options_) || dead(watching);
}

// The ping of the first look may be from before the break. Members of a mirrored store have one
// ping at different times, and a listing shows it of one of them.
std::optional<BrokenHold::End> BrokenHold::after_pings(const PingRecord& ping, SteadyTime now) {
  const bool another = last_ && last_->clock == ping.clock && last_->ping != ping.ping;
  last_ = ping;
  if (another) ++pings_;
  if (pings_ < pings_with_a_look_) return std::nullopt;
  // A command that was told to end has its grace still. Its end takes the ping away.
  const milliseconds window = options_.takeover_after;
  if (noticed_by_ == SteadyTime{}) {
    noticed_by_ = now + std::min(kGraceMost, window / 8) + std::min(kMarginMost, window / 16);
  }
  return now >= noticed_by_ ? std::optional(End::noticed) : std::nullopt;
}

void wait_for_holder(const LockView& shown, const OpenedStore& opened, const WaitWords& words) {
  const milliseconds longest = acts_at_most(shown).value_or(milliseconds{0});
  if (longest.count() > 0) {
    words.news << "distlock: waiting for " << holder_in_words(*shown.record) << ", which acts for "
               << rounded_up_text(longest) << " at most\n"
               << std::flush;
  }
  BrokenHold broken(shown);
  std::optional<BrokenHold::End> end;
  for (bool told = false; !(end = look(broken, opened, told, words.err));) {
    opened.clock.wait_until(opened.clock.steady_now() + broken.pause(), {});
  }
  words.news << "distlock: " << escaped(shown.name) << ": " << text_of(*end) << '\n';
}

}  // namespace distlock::cli
