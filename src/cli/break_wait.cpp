#include "cli/break_wait.h"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "carries.h"
#include "cli/countdown.h"
#include "cli/duration.h"
#include "cli/view_cells.h"
#include "distlock/error.h"
#include "failure.h"
#include "processes.h"
#include "saturating.h"
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

// A store without members is one member.
Listings listings_of(Store& store) {
  Members* const members = store.members();
  return members == nullptr ? Listings{{Token{}, store.list()}} : members->listings().of_members;
}

bool carries(const Listing& listing, const LockRecord& hold) {
  return std::any_of(listing.locks.begin(), listing.locks.end(), [&](const auto& lock) {
    return lock.id == hold.name && carries(lock.record, hold.ts);
  });
}

// Nothing while the store does not answer.
std::optional<BrokenHold::End> look(BrokenHold& broken, const OpenedStore& opened, bool& told,
                                    std::ostream& err) {
  try {
    const auto [members, span] = timed(opened.clock, [&] { return listings_of(opened.store); });
    return broken.look(members, span);
  } catch (const Error& error) {
    if (!may_wait_on(error)) throw;
    if (!std::exchange(told, true)) {
      err << "distlock: " << error.what() << "; looking again\n" << std::flush;
    }
    return std::nullopt;
  }
}

}  // namespace

std::optional<milliseconds> acts_at_most(const LockView& lock) {
  if (!lock.record->takeover_after) return std::nullopt;
  if (lock.of_deadline.how == Takeover::How::now) return milliseconds{0};
  if (lock.of_deadline.how == Takeover::How::later) return lock.of_deadline.in;
  return *lock.record->takeover_after;
}

BrokenHold::BrokenHold(const LockView& shown, std::size_t majority, TokenIsHad is_had)
    : majority_(majority),
      is_had_(std::move(is_had)),
      hold_(*shown.record),
      had_ping_(shown.takeover.how != Takeover::How::never),
      pings_with_a_look_(protocol::pings_until_noticed(!hold_.members.empty())),
      options_(contender(hold_)) {}

bool BrokenHold::any_may_have(const std::string& token, milliseconds given) {
  return may_be_had(token, given);
}

milliseconds BrokenHold::pause() const {
  return std::clamp(options_.takeover_after / 16, milliseconds{1}, kLookMost);
}

std::optional<BrokenHold::End> BrokenHold::look(const Listings& members, const LocalSpan& span) {
  const auto lists = [&](const MemberListing& one) { return find(one.listing, hold_.process); };
  const bool listed = std::any_of(members.begin(), members.end(), lists);
  if (!listed && had_ping_) return End::gone;
  std::size_t silent = 0;
  std::size_t pinged = 0;
  std::size_t past = 0;  // The holder counts on these no more.
  for (const MemberListing& one : members) {
    Watched& member = watched_[one.member];
    const auto* shown = find(one.listing, hold_.process);
    std::optional<PingRecord> ping = shown == nullptr ? std::nullopt : shown->record;
    if (ping && ping->was_run && may_act_on(*ping, one.listing.now, span.sent)) ping->ended = false;
    note_ping(member, ping);
    const bool is_silent = this->is_silent(member, one.listing.now, span);
    const bool has_pinged = member.pings >= pings_with_a_look_;
    if (is_silent) ++silent;
    if (has_pinged) ++pinged;
    if (is_silent || (has_pinged && !carries(one.listing, hold_))) ++past;
  }
  if (silent >= majority_) return End::silent;
  const bool noticed = pinged >= majority_ && past >= majority_;
  return noticed ? after_notice(span.received) : std::nullopt;
}

// Where the clocks of store and host disagree, a contender refuses (R5). To watch for a whole
// window needs neither of them. A member without a ping is watched, too: the date of the hold may
// be by the clock of another member.
bool BrokenHold::is_silent(Watched& member, const StoreNow& now, const LocalSpan& span) {
  const Inspection seen{.lock = hold_, .ping = member.last, .now = now, .fresh = true};
  LockOptions watching = options_;
  watching.takeover_rule = TakeoverRule::watched;
  const auto dead = [&](const LockOptions& options) {
    const auto judged = protocol::judge(seen, span, false, options, member.watch);
    return judged.verdict == protocol::Verdict::dead;
  };
  const bool is_by_this_clock = member.last || hold_.members.empty();
  return (is_by_this_clock && dead(options_)) || dead(watching);
}

// The ping of the first look may be from before the break.
void BrokenHold::note_ping(Watched& member, const std::optional<PingRecord>& ping) {
  if (ping && member.last && member.last->ping != ping->ping) ++member.pings;
  member.last = ping;
  had_ping_ = had_ping_ || ping;
}

// The store tells the end of a run by the holds that it has, and the broken one is none any more.
// Processes of its command may be at work still (R23). On a mirrored store the hold may be dated by
// the clock of another member.
bool BrokenHold::may_act_on(const PingRecord& ping, const StoreNow& now, SteadyTime sent) const {
  if (!hold_.ts) return false;
  const bool comparable = hold_.members.empty() && hold_.when && ping.clock == now.clock;
  const auto up = std::chrono::floor<milliseconds>(sent.time_since_epoch());
  const milliseconds age = comparable ? saturating_difference(now.time, *hold_.when) : up;
  return is_had_(to_hex(*hold_.ts), up - std::clamp(age, milliseconds{0}, up));
}

std::optional<BrokenHold::End> BrokenHold::after_notice(SteadyTime now) {
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
  const Members* const members = opened.store.members();
  BrokenHold broken(shown, members == nullptr ? 1 : members->majority());
  std::optional<BrokenHold::End> end;
  bool waits = longest.count() > 0;
  for (bool told = false; !(end = look(broken, opened, told, words.err));) {
    if (!std::exchange(waits, true)) {
      words.news << "distlock: waiting for what the command may have left behind\n" << std::flush;
    }
    opened.clock.wait_until(opened.clock.steady_now() + broken.pause(), {});
  }
  words.news << "distlock: " << escaped(shown.name) << ": " << text_of(*end) << '\n';
}

}  // namespace distlock::cli
