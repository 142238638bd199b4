#include "cli/readmit.h"

#include <ostream>
#include <string>
#include <vector>

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

// Errors: `invalid_argument` where there is no such member.
const MemberState& state_among(const std::vector<MemberState>& states, std::size_t number) {
  if (number <= states.size()) return states[number - 1];
  throw Error(Errc::invalid_argument, "readmit: there is no member " + std::to_string(number) +
                                          ": the store has " + std::to_string(states.size()));
}

}  // namespace

int readmit(const ReadmitArguments& arguments, const OpenedStore& opened, const Streams& streams) {
  Members* const members = opened.store.members();
  if (members == nullptr) {
    throw Error(Errc::invalid_argument, "readmit: the store is not a mirrored one");
  }
  const bool quiet = arguments.common.verbosity == Verbosity::quiet;
  const std::string name = "member " + std::to_string(arguments.member);
  const std::vector<MemberState> states = members->states();
  if (state_among(states, arguments.member).condition == MemberState::Condition::counts) {
    if (!quiet) streams.err << "distlock: " << name << " counts already\n";
    return kSuccess;
  }
  if (will_ask(arguments.confirmed, streams) || !quiet) {
    print_members(streams.err, states, false);
    say_what_is_assumed(streams.err);
  }
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
