#include "cli/status.h"

#include <algorithm>
#include <ostream>

#include "cli/connection.h"
#include "cli/exit_status.h"
#include "cli/pattern.h"
#include "cli/view.h"
#include "cli/view_json.h"
#include "cli/view_members.h"
#include "cli/view_text.h"
#include "distlock/error.h"
#include "identity_name.h"
#include "text.h"

namespace distlock::cli {
namespace {

template <class Problems>
void tell_problems(std::ostream& err, const Problems& views) {
  for (const auto& view : views) {
    if (!view.record) err << "distlock: " << view.problem << '\n';
  }
}

// Also on the error stream, for the table may be read by nobody and JSON by a program only.
int end(const View& view, const Streams& streams) {
  tell_problems(streams.err, view.locks);
  tell_problems(streams.err, view.pings);
  return view.malformed() ? kMalformed : kSuccess;
}

Layout layout_of(const CommonArguments& arguments, const Streams& streams) {
  return {.in_colour = streams.out_in_colour,
          .width = streams.out_width,
          .verbose = arguments.verbosity == Verbosity::verbose};
}

bool is_free(const LockView& lock) { return lock.record && !lock.record->taken(); }

bool of_some(const ListArguments& arguments) { return arguments.held || arguments.pattern; }

// Some of the locks stand alone, without everybody's pings. But a malformed one says nothing of a
// lock's holder.
void leave_out_pings(View& view) {
  std::erase_if(view.pings, [&](const PingView& ping) {
    return ping.record || std::none_of(view.locks.begin(), view.locks.end(), [&](const auto& lock) {
             return lock.record && lock.record->taken() && lock.record->process == ping.process;
           });
  });
}

// Leaves the locks that were asked for. Gives what to say where none is left.
const char* leave_out(View& view, const ListArguments& arguments) {
  if (!of_some(arguments)) return "no locks";
  std::erase_if(view.locks, [&](const LockView& lock) {
    return arguments.pattern && !(lock.named && matches(*arguments.pattern, lock.name));
  });
  std::erase_if(view.left_over, [&](const LockRecord& hold) {
    return arguments.pattern && !matches(*arguments.pattern, hold.name);
  });
  const bool unknown = arguments.pattern && view.locks.empty();
  if (arguments.held) std::erase_if(view.locks, is_free);
  leave_out_pings(view);
  if (unknown) return "no such lock";
  return arguments.pattern ? "no such lock is held" : "no lock is held";
}

void print_names(std::ostream& out, const View& view) {
  for (const LockView& lock : view.locks) {
    if (lock.named) out << escaped(lock.name) << '\n';
  }
}

void print_text(std::ostream& out, const View& view, const ListArguments& arguments,
                const char* none, const Layout& layout) {
  if (!of_some(arguments)) return print_list(out, view, layout);
  print_locks(out, view, none, layout);
}

// Nothing of a store that is not mirrored.
void print_all_members(std::ostream& out, const std::vector<MemberState>& members, bool in_colour) {
  if (members.empty()) return;
  out << '\n';
  print_members(out, members, in_colour);
}

// Without -v only the members that do not count.
void print_members_below(std::ostream& out, const std::vector<MemberState>& members,
                         const Layout& layout) {
  if (!layout.verbose) return print_members_that_do_not_count(out, members, layout.in_colour);
  print_all_members(out, members, layout.in_colour);
}

// Where too few members of a mirrored store can be read, their table says why.
template <class Look>
View seen_by(const Look& look, Format format, Store& store, std::ostream& out,
             const Layout& layout) {
  try {
    return look();
  } catch (const Error&) {
    const bool in_table = format == Format::text && layout.verbose;
    if (in_table) print_all_members(out, members_of(store), layout.in_colour);
    throw;
  }
}

// Its locks count for nobody who names the whole store. Of all locks one is the member's identity.
void warn_of_member(const View& view, const OpenedStore& opened, const Streams& streams) {
  if (!view.members.empty()) return;
  for (const LockView& lock : view.locks) {
    if (lock.name != kIdentityName || !lock.record) continue;
    const std::string member = member_in_words(*lock.record, opened.connection);
    std::ostream& to = streams.warnings != nullptr ? *streams.warnings : streams.err;
    if (!member.empty()) to << "distlock: " << member << '\n';
  }
}

}  // namespace

int status(const StatusArguments& arguments, const OpenedStore& opened, const Streams& streams) {
  const Observer observer{opened.store, opened.clock, opened.connection, arguments.window};
  const Layout layout = layout_of(arguments.common, streams);
  View view = seen_by(
      [&] { return arguments.lock ? view_one(observer, *arguments.lock) : view_all(observer); },
      arguments.format, opened.store, streams.out, layout);
  warn_of_member(view, opened, streams);
  // Of all locks, the held ones: their holders' pings are a column.
  const bool malformed = view.malformed();
  if (!arguments.lock) {
    tell_problems(streams.err, view.pings);
    view.pings.clear();
    std::erase_if(view.locks, is_free);
  }
  if (arguments.format == Format::json) {
    print_json(streams.out, view);
  } else if (arguments.lock) {
    print_lock(streams.out, view, layout);
    print_members_below(streams.out, view.members, layout);
  } else {
    print_locks(streams.out, view, "no lock is held", layout);
    print_members_below(streams.out, view.members, layout);
  }
  end(view, streams);
  return malformed ? kMalformed : kSuccess;
}

int list(const ListArguments& arguments, const OpenedStore& opened, const Streams& streams) {
  const Layout layout = layout_of(arguments.common, streams);
  const Observer observer{opened.store, opened.clock, opened.connection, arguments.window};
  View view = seen_by([&] { return view_all(observer); }, arguments.format, opened.store,
                      streams.out, layout);
  warn_of_member(view, opened, streams);
  const char* const none = leave_out(view, arguments);
  switch (arguments.format) {
    case Format::text:
      print_text(streams.out, view, arguments, none, layout);
      print_members_below(streams.out, view.members, layout);
      break;
    case Format::json:
      print_json(streams.out, view);
      break;
    case Format::names:
      print_names(streams.out, view);
      break;
  }
  return end(view, streams);
}

}  // namespace distlock::cli
