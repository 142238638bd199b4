#include "cli/break.h"

#include <algorithm>
#include <ostream>
#include <string>

#include "cli/break_ring.h"
#include "cli/break_wait.h"
#include "cli/confirm.h"
#include "cli/duration.h"
#include "cli/exit_status.h"
#include "cli/view.h"
#include "cli/view_text.h"
#include "distlock/error.h"
#include "distlock/members.h"
#include "text.h"

namespace distlock::cli {
namespace {

bool is_quiet(const BreakArguments& arguments) {
  return arguments.common.verbosity == Verbosity::quiet;
}

// The lock is handed on at once, and its old command ends when its holder notices.
void warn_of_overlap(std::ostream& err, const LockView& lock) {
  const auto longest = acts_at_most(lock);
  if (!longest) {
    err << "The holder states no window: it may work on for an unknown time.\n";
  } else if (longest->count() == 0) {
    err << "The holder has been silent for its window: its deadline has passed.\n";
  } else {
    err << "A contender gets the lock at once. The old command works on until its holder\n"
           "notices, at its next ping, for "
        << rounded_up_text(*longest) << " at most. --wait waits for that.\n";
  }
}

// Errors: `bad_record` if the document is malformed.
View view_of(const BreakArguments& arguments, const OpenedStore& opened) {
  View view =
      view_one({opened.store, opened.clock, opened.connection, ContenderWindow{}}, arguments.lock);
  const LockView& lock = view.locks.front();
  if (!lock.record) throw Error(Errc::bad_record, lock.problem);
  return view;
}

// The holds of MongoDB's own lock manager may have one `ts`, by which alone a release asks. A
// mirrored store has none of these, and a `when` of each member.
bool is_another_now(const LockRecord& shown, const BreakArguments& arguments,
                    const OpenedStore& opened) {
  if (!shown.members.empty()) return false;
  const View view = view_of(arguments, opened);
  const LockRecord& now = *view.locks.front().record;
  return now.taken() && (now.ts != shown.ts || now.when != shown.when);
}

// The exit status, for a hold that is not there any more.
int tell_changed(const std::string& name, std::ostream& err) {
  err << "distlock: " << escaped(name)
      << " has changed hands since; nothing was changed, look again\n";
  return kBusy;
}

// Of a lock that is free by the others.
void tell_of_members_away(const BreakArguments& arguments, const OpenedStore& opened,
                          std::ostream& news) {
  Members* const members = opened.store.members();
  if (members == nullptr || is_quiet(arguments)) return;
  const std::vector<MemberState> states = members->states();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].condition != MemberState::Condition::away) continue;
    news << "distlock: member " << i + 1
         << " is away, and may carry the hold still: once the member is back, look, and break "
            "the hold again if it is shown\n";
  }
}

// The same on a mirrored store. A minority of its members may have carried what was shown, and have
// freed it.
int tell_of_members(const LockRecord& shown, const BreakArguments& arguments,
                    const OpenedStore& opened, std::ostream& err) {
  const View view = view_of(arguments, opened);
  const LockRecord& now = *view.locks.front().record;
  const std::string name = escaped(shown.name);
  const bool left = std::any_of(view.left_over.begin(), view.left_over.end(),
                                [&](const LockRecord& hold) { return hold.ts == shown.ts; });
  if (!now.taken() && !left) {
    if (!is_quiet(arguments)) err << "distlock: freed " << name << '\n';
    tell_of_members_away(arguments, opened, err);
    return kSuccess;
  }
  if (left || now.ts == shown.ts) {
    err << "distlock: " << name << " is still held so by some members, look again\n";
    return kBusy;
  }
  err << "distlock: " << name
      << " is shown as held by another now; what was shown before is not there any more, look "
         "again\n";
  return kBusy;
}

int release(const LockView& lock, const BreakArguments& arguments, const OpenedStore& opened,
            std::ostream& err) {
  std::ostream nowhere(nullptr);
  std::ostream& news = is_quiet(arguments) ? nowhere : err;
  const LockRecord& hold = *lock.record;
  if (is_another_now(hold, arguments, opened)) return tell_changed(hold.name, err);
  RingingRelease ringing(opened, hold);
  switch (ringing.release()) {
    case ReleaseResult::freed:
      news << "distlock: freed " << escaped(hold.name) << '\n' << std::flush;
      ringing.follow();
      tell_of_members_away(arguments, opened, news);
      if (arguments.wait && hold.takeover_after) wait_for_holder(lock, opened, {news, err});
      return kSuccess;
    case ReleaseResult::already_free:
      news << "distlock: " << escaped(hold.name) << " is free already\n";
      tell_of_members_away(arguments, opened, news);
      return kSuccess;
    case ReleaseResult::not_ours:
    case ReleaseResult::freed_in_part:
      break;
  }
  return hold.members.empty() ? tell_changed(hold.name, err)
                              : tell_of_members(hold, arguments, opened, err);
}

// Each of them, on the members that carry it. No ping prolongs it, so that there is no end to wait
// for.
int release_left_over(const View& view, const BreakArguments& arguments, const OpenedStore& opened,
                      std::ostream& err) {
  BreakArguments at_once = arguments;
  at_once.wait = false;
  int worst = kSuccess;
  for (const LockRecord& hold : view.left_over) {
    const LockView one{.name = hold.name, .record = hold};
    worst = std::max(worst, release(one, at_once, opened, err));
  }
  return worst;
}

// The exit status, for a lock that no member shows as taken.
int tell_free(const LockRecord& lock, const BreakArguments& arguments, std::ostream& err) {
  const std::string name = escaped(arguments.lock);
  if (!lock.ts) {
    err << "distlock: nobody has ever claimed " << name << '\n';
    return kBusy;
  }
  if (!is_quiet(arguments)) err << "distlock: " << name << " is free already\n";
  return kSuccess;
}

}  // namespace

int break_hold(const BreakArguments& arguments, const OpenedStore& opened, const Streams& streams) {
  const std::string name = escaped(arguments.lock);
  const View view = view_of(arguments, opened);
  const LockView& lock = view.locks.front();
  const bool taken = lock.record->taken();
  if (!taken && view.left_over.empty()) return tell_free(*lock.record, arguments, streams.err);

  if (will_ask(arguments.confirmed, streams) || !is_quiet(arguments)) {
    print_lock(streams.err, view, {});
    if (taken) warn_of_overlap(streams.err, lock);
  }
  if (!arguments.confirmed) {
    const auto status = refused({"Break it?", "to break this hold", name}, streams);
    if (status) return *status;
  }
  return taken ? release(lock, arguments, opened, streams.err)
               : release_left_over(view, arguments, opened, streams.err);
}

}  // namespace distlock::cli
