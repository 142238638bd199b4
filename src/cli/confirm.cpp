#include "cli/confirm.h"

#include <istream>
#include <ostream>
#include <string>

namespace distlock::cli {

bool confirm(const Streams& streams, std::string_view question) {
  streams.err << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(streams.in, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace distlock::cli
