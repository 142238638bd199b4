#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/streams.h"

namespace distlock::cli {

/// A step that needs a yes, or --yes.
struct Deed {
  std::string_view question;  ///< "Break it?"
  std::string_view purpose;   ///< Of --yes: "to break this hold".
  std::string thing;          ///< Left as it is if the answer is no.
};

/// Whether refused() asks for what was `confirmed` or not.
bool will_ask(bool confirmed, const Streams& streams);

/// Asks, and waits for a line of standard input. Nothing if that is y, Y or yes. Otherwise says
/// that nothing was done, and gives the exit status: 1, or 64 where standard input is no terminal.
std::optional<int> refused(const Deed& deed, const Streams& streams);

}  // namespace distlock::cli
