#include "cli/status.h"

#include <algorithm>
#include <ostream>

#include "cli/exit_status.h"
#include "cli/view.h"
#include "cli/view_json.h"
#include "cli/view_text.h"
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

}  // namespace

int status(const StatusArguments& arguments, const Place& place, const Streams& streams) {
  const Observer observer{place.store, place.clock, place.connection, arguments.takeover_after};
  View view = arguments.lock ? view_one(observer, *arguments.lock) : view_all(observer);
  if (arguments.format == Format::json) {
    if (!arguments.lock) {
      view.pings.clear();
      std::erase_if(view.locks,
                    [](const LockView& lock) { return lock.record && !lock.record->taken(); });
    }
    print_json(streams.out, view);
  } else if (arguments.lock) {
    print_lock(streams.out, view.locks.front(), view.now, streams.out_in_colour);
  } else {
    print_held(streams.out, view, streams.out_in_colour);
  }
  return end(view, streams);
}

int list(const ListArguments& arguments, const Place& place, const Streams& streams) {
  const View view =
      view_all({place.store, place.clock, place.connection, arguments.takeover_after});
  switch (arguments.format) {
    case Format::text:
      print_list(streams.out, view, streams.out_in_colour);
      break;
    case Format::json:
      print_json(streams.out, view);
      break;
    case Format::names:
      for (const LockView& lock : view.locks) streams.out << escaped(lock.name) << '\n';
      break;
  }
  return end(view, streams);
}

}  // namespace distlock::cli
