#include "cli/view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "carries.h"
#include "cli/member_looks.h"
#include "cli/time_text.h"
#include "clock_name.h"
#include "distlock/error.h"
#include "distlock/options.h"
#include "local_span.h"
#include "protocol/protocol.h"
#include "saturating.h"
#include "sound.h"

namespace distlock::cli {
namespace {

using protocol::Reason;

// A contender with the holder's own window.
LockOptions peer(const LockRecord& lock) {
  LockOptions options;
  if (lock.takeover_after) {
    options.takeover_after = std::max(*lock.takeover_after, std::chrono::milliseconds{1});
  }
  return options;
}

LockOptions contender(const Observer& observer, const LockRecord& lock) {
  if (!observer.window) return peer(lock);
  return {.takeover_after = observer.window->takeover_after,
          .unstated_window = observer.window->unstated_window};
}

Takeover::How how(Reason reason) {
  switch (reason) {
    case Reason::none:
    case Reason::others_turn:
      return Takeover::How::not_needed;
    case Reason::pinged_recently:
      return Takeover::How::later;
    case Reason::ping_missing:
      return Takeover::How::never;
    case Reason::ping_in_future:
    case Reason::wall_clock_skew:
    case Reason::clock_stepped:
      return Takeover::How::clock_skew;
    case Reason::other_clock:
    case Reason::not_watched:
      return Takeover::How::by_watching;
    case Reason::silent:
    case Reason::ended:
    case Reason::not_counted:
      return Takeover::How::now;
  }
  return Takeover::How::never;
}

// Whether a skew would spare the holder when its window is over (R5), as long as it stays.
bool skew_will_refuse(Inspection seen, const LocalSpan& span, const LockOptions& options) {
  if (!seen.ping) return false;
  seen.ping->ping = saturating_sum(seen.now->time, -protocol::window(*seen.lock, options));
  protocol::HolderWatch watch;
  const Reason reason = protocol::judge(seen, span, false, options, watch).reason;
  return how(reason) == Takeover::How::clock_skew;
}

// The contenders' own rule, so that what is shown is what they would do.
Takeover takeover(const LockOptions& options, const Inspection& seen, const LocalSpan& span) {
  protocol::HolderWatch watch;
  const protocol::Judgement judgement = protocol::judge(seen, span, false, options, watch);
  const bool skewed =
      judgement.reason == Reason::pinged_recently && skew_will_refuse(seen, span, options);
  return {.how = skewed ? Takeover::How::clock_skew : how(judgement.reason),
          .window = protocol::window(*seen.lock, options),
          .in = judgement.until_takeover};
}

// Each member by itself, its own document, ping and clock (M4).
std::vector<OnMember> on_members(const LockOptions& options, const std::vector<Inspection>& members,
                                 const LocalSpan& span) {
  std::vector<OnMember> all;
  all.reserve(members.size());
  for (const Inspection& one : members) {
    const bool taken = one.lock && one.lock->taken();
    all.push_back({one, taken ? takeover(options, one, span) : Takeover{}});
  }
  return all;
}

// Those that carry the hold. They alone say when its deadline has passed (M5).
std::vector<OnMember> carriers(std::vector<OnMember> members, const LockRecord& hold) {
  std::erase_if(members, [&](const OnMember& one) { return !carries(one.seen, hold.ts); });
  return members;
}

void show_ping_of(const OnMember& one, LockView& view) {
  view.ping = one.seen.ping;
  view.now = one.seen.now;
  name_clock(*view.now, one.seen.member);
  if (view.ping) name_clock(*view.ping, one.seen.member);
}

// As protocol::judge_members() does, and by which member (M4).
void judge_members(const Observer& observer, const LockRecord& hold, const LocalSpan& span,
                   const std::vector<Inspection>& members, LockView& view) {
  const std::size_t majority = observer.store.members()->majority();
  const LockOptions options = contender(observer, hold);
  const auto last = deciding(on_members(options, members, span), majority);
  const auto own = on_members(peer(hold), members, span);
  const auto last_of_own = deciding(own, majority);
  const auto last_carrier = deciding(carriers(own, hold), majority);
  const Takeover unknown{.how = Takeover::How::never, .window = protocol::window(hold, options)};
  view.takeover = last ? last->takeover : unknown;
  view.by_own_window = last_of_own ? last_of_own->takeover : unknown;
  view.of_deadline = last_carrier ? last_carrier->takeover : unknown;
  if (last && last->seen.lock && last->seen.lock->taken()) show_ping_of(*last, view);
}

void judge(const Observer& observer, const Inspection& seen, const LocalSpan& span,
           LockView& view) {
  if (!seen.lock || !seen.lock->taken()) return;
  if (observer.store.members() != nullptr)
    return judge_members(observer, *seen.lock, span, seen.members, view);
  view.takeover = takeover(contender(observer, *seen.lock), seen, span);
  view.by_own_window = view.of_deadline = takeover(peer(*seen.lock), seen, span);
}

PingView ping_view(const Listed<PingRecord>& listed) {
  return {.process = listed.id,
          .record = listed.record,
          .problem = listed.problem,
          .named = listed.named};
}

using Pings = std::map<std::string, PingView>;

Pings pings_by_process(const Listing& listing) {
  Pings pings;
  for (const auto& listed : listing.pings) {
    if (listed.named) pings[listed.id] = ping_view(listed);
  }
  for (const auto& listed : listing.locks) {
    if (!listed.record || !listed.record->taken()) continue;
    const auto ping = pings.find(listed.record->process);
    if (ping != pings.end()) ++ping->second.holds;
  }
  return pings;
}

auto timed_listings(const Observer& observer) {
  return timed(observer.clock, [&] {
    Members* const members = observer.store.members();
    return members == nullptr ? MemberListings{observer.store.list(), {}} : members->listings();
  });
}

LockView lock_view(const Observer& observer, const Listed<LockRecord>& listed, const Pings& pings,
                   Inspection seen, const LocalSpan& span) {
  LockView view;
  view.name = listed.id;
  view.record = listed.record;
  view.problem = listed.problem;
  view.named = listed.named;
  if (!listed.record || !listed.record->taken()) return view;
  const auto ping = pings.find(listed.record->process);
  if (ping != pings.end()) view.ping = ping->second.record;
  seen.lock = listed.record;
  seen.ping = view.ping;
  judge(observer, seen, span, view);
  const bool malformed = ping != pings.end() && !ping->second.record;
  if (malformed && view.takeover.how == Takeover::How::never) {
    view.takeover = view.by_own_window = view.of_deadline = {.how = Takeover::How::malformed_ping};
  }
  return view;
}

struct OneLock {
  LockView lock;
  std::optional<StoreNow> now = {};
  std::vector<LockRecord> left_over = {};
};

// A lock and its holder's ping by one read.
OneLock look_at(const Observer& observer, std::string_view name) {
  const auto [seen, span] =
      timed(observer.clock, [&] { return observer.store.inspect(name, Freshness::ordinary); });
  OneLock one{.lock = {.name = std::string(name), .record = seen.lock, .ping = seen.ping},
              .now = seen.now};
  // A lock that nobody has claimed yet is free.
  if (!seen.lock) one.lock.record.emplace().name = name;
  one.left_over = holds_beside(one.lock.record, seen.members);
  judge(observer, seen, span, one.lock);
  return one;
}

// A listing reads locks and pings one after the other: a holder that came or left in between seems
// to have no ping. The members of a mirrored store may show a lock as free that was taken before.
void look_for_ping(const Observer& observer, OneLock& one) {
  const LockView& lock = one.lock;
  const bool freed_meanwhile =
      lock.takeover.how == Takeover::How::not_needed && lock.record && lock.record->taken();
  if (lock.takeover.how != Takeover::How::never && !freed_meanwhile) return;
  try {
    one = look_at(observer, lock.name);
  } catch (const Error& error) {
    if (error.errc() != Errc::bad_record) throw;
  }
}

// So an old ping on one member does not hide a process that most members hear.
void show_ping_of_majority(const Observer& observer, const MemberLooks& looks, PingView& view) {
  Members* const members = observer.store.members();
  if (members == nullptr) return;
  const auto shown = looks.ping_of(view.process, members->majority());
  if (!shown) return;
  view.record = shown->ping;
  view.now = shown->now;
}

// A lock whose document is sound, though its holder's ping is not: a listing holds both.
std::optional<View> view_with_malformed_ping(const Observer& observer, std::string_view name) {
  View view = view_all(observer);
  std::erase_if(view.locks, [&](const LockView& lock) { return !lock.named || lock.name != name; });
  std::erase_if(view.left_over, [&](const LockRecord& hold) { return hold.name != name; });
  if (view.locks.empty() || !view.locks.front().record) return std::nullopt;
  const std::string& holder = view.locks.front().record->process;
  std::erase_if(view.pings,
                [&](const PingView& ping) { return !ping.named || ping.process != holder; });
  return view;
}

}  // namespace

bool View::malformed() const {
  const auto has_problem = [](const auto& view) { return !view.record; };
  return std::any_of(locks.begin(), locks.end(), has_problem) ||
         std::any_of(pings.begin(), pings.end(), has_problem);
}

std::vector<MemberState> members_of(Store& store) {
  Members* const members = store.members();
  return members == nullptr ? std::vector<MemberState>{} : members->states();
}

View view_all(const Observer& observer) {
  const auto [listings, span] = timed_listings(observer);
  const Listing& listing = listings.all;
  const MemberLooks looks(listings.of_members);
  const Pings pings = pings_by_process(listing);
  View view{.store = observer.connection.redacted(), .now = listing.now};
  for (const auto& listed : listing.locks) {
    Inspection seen{.lock = {}, .ping = {}, .now = listing.now, .fresh = true};
    seen.members = looks.at(listed.id);
    OneLock one;
    if (listed.record) one.left_over = holds_beside(listed.record, seen.members);
    one.lock = lock_view(observer, listed, pings, std::move(seen), span);
    look_for_ping(observer, one);
    view.locks.push_back(std::move(one.lock));
    view.left_over.insert(view.left_over.end(), one.left_over.begin(), one.left_over.end());
  }
  const std::vector<LockRecord> locks = sound(listing.locks);
  view.deadlocks = deadlock::cycles(locks);
  view.possible_deadlocks = deadlock::possible_cycles(locks);
  for (const auto& [process, ping] : pings) {
    view.pings.push_back(ping);
    if (ping.record) show_ping_of_majority(observer, looks, view.pings.back());
  }
  for (const auto& listed : listing.pings) {
    if (!listed.named) view.pings.push_back(ping_view(listed));
  }
  view.members = members_of(observer.store);
  return view;
}

View view_one(const Observer& observer, std::string_view name) {
  View view;
  view.store = observer.connection.redacted();
  LockView lock;
  lock.name = name;
  try {
    OneLock one = look_at(observer, name);
    view.now = one.now;
    lock = std::move(one.lock);
    view.left_over = std::move(one.left_over);
  } catch (const Error& error) {
    if (error.errc() != Errc::bad_record) throw;
    if (auto sound = view_with_malformed_ping(observer, name)) return *std::move(sound);
    lock.problem = error.what();
  }
  view.locks.push_back(std::move(lock));
  view.members = members_of(observer.store);
  return view;
}

}  // namespace distlock::cli
