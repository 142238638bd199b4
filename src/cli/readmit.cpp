#include "cli/readmit.h"

#include <ostream>
#include <string>

#include "cli/confirm.h"
#include "cli/exit_status.h"
#include "cli/view_members.h"
#include "distlock/error.h"

namespace distlock::cli {
namespace {

void say_what_is_assumed(std::ostream& err) {
  err << "A process that held a lock when this member lost its data may count on them still. Take\n"
         "the member back only if all such processes have ended, or if the longest window of the\n"
         "store has passed since. Its old data must not return.\n";
}

}  // namespace

int readmit(const ReadmitArguments& arguments, const OpenedStore& opened, const Streams& streams) {
  Members* const members = opened.store.members();
  if (members == nullptr) {
    throw Error(Errc::invalid_argument, "readmit: the store is not a mirrored one");
  }
  const bool quiet = arguments.common.verbosity == Verbosity::quiet;
  if (!arguments.confirmed || !quiet) {
    print_members(streams.err, members->states(), false);
    say_what_is_assumed(streams.err);
  }
  const std::string name = "member " + std::to_string(arguments.member);
  if (!arguments.confirmed) {
    const auto status = refused({"Take it back?", "to take a member back", name}, streams);
    if (status) return *status;
  }
  const bool back = members->readmit(arguments.member - 1);
  if (!quiet) {
    streams.err << "distlock: " << name << (back ? " is back\n" : " counts already\n");
  }
  return kSuccess;
}

}  // namespace distlock::cli
