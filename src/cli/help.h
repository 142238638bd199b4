#pragma once

#include <string>
#include <vector>

namespace distlock::cli {

/// One line of a command's help.
struct OptionHelp {
  std::string names;    ///< `-w, --wait`
  std::string value;    ///< `DURATION`, or nothing for a flag.
  std::string purpose;  ///< For people.
};

/// The help of one command, at most 80 columns wide.
std::string help_text(const std::string& usage, const std::string& purpose,
                      const std::vector<OptionHelp>& options);

}  // namespace distlock::cli
