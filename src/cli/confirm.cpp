#include "cli/confirm.h"

#include <istream>
#include <ostream>

#include "cli/exit_status.h"

namespace distlock::cli {

bool will_ask(bool confirmed, const Streams& streams) {
  return !confirmed && streams.in_is_terminal;
}

std::optional<int> refused(const Deed& deed, const Streams& streams) {
  if (!streams.in_is_terminal) {
    streams.err << "distlock: standard input is no terminal: give --yes " << deed.purpose << '\n';
    return kUsage;
  }
  streams.err << deed.question << " [y/N] " << std::flush;
  std::string answer;
  if (!std::getline(streams.in, answer)) streams.err << '\n';
  if (answer == "y" || answer == "Y" || answer == "yes") return std::nullopt;
  streams.err << "distlock: left " << deed.thing << " as it is\n";
  return kBusy;
}

}  // namespace distlock::cli
