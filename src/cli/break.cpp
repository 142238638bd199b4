#include "cli/break.h"

#include <istream>
#include <ostream>
#include <string>

#include "cli/exit_status.h"
#include "cli/view.h"
#include "cli/view_text.h"
#include "distlock/error.h"
#include "text.h"

namespace distlock::cli {
namespace {

bool yes(const Streams& streams) {
  streams.err << "Break it? [y/N] " << std::flush;
  std::string answer;
  std::getline(streams.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int release(const LockRecord& hold, Store& store, std::ostream& err) {
  switch (store.release(hold.name, *hold.ts)) {
    case ReleaseResult::freed:
      err << "distlock: freed " << escaped(hold.name) << '\n';
      return kSuccess;
    case ReleaseResult::already_free:
      err << "distlock: " << escaped(hold.name) << " is free already\n";
      return kSuccess;
    case ReleaseResult::not_ours:
      break;
  }
  err << "distlock: " << escaped(hold.name)
      << " has changed hands since; nothing was changed, look again\n";
  return kBusy;
}

}  // namespace

int break_hold(const BreakArguments& arguments, const Place& place, const Streams& streams) {
  const std::string name = escaped(arguments.lock);
  const View view = view_one({place.store, place.clock, place.connection, {}}, arguments.lock);
  const LockView& lock = view.locks.front();
  if (!lock.record) throw Error(Errc::bad_record, lock.problem);
  if (!lock.record->taken() && !lock.record->ts) {
    streams.err << "distlock: nobody has ever claimed " << name << '\n';
    return kBusy;
  }
  if (!lock.record->taken()) {
    streams.err << "distlock: " << name << " is free already\n";
    return kSuccess;
  }

  if (!arguments.confirmed || arguments.common.verbosity != Verbosity::quiet) {
    print_lock(streams.err, lock, view.now, false);
  }
  if (!arguments.confirmed && !streams.in_is_terminal) {
    streams.err << "distlock: nobody to ask on a terminal; to break this hold, say --yes\n";
    return kUsage;
  }
  if (!arguments.confirmed && !yes(streams)) {
    streams.err << "distlock: left " << name << " as it is\n";
    return kBusy;
  }
  return release(*lock.record, place.store, streams.err);
}

}  // namespace distlock::cli
