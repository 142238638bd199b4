#include "cli/watch.h"

#include <ostream>
#include <sstream>
#include <string>

#include "cli/exit_status.h"
#include "distlock/error.h"

namespace distlock::cli {
namespace {

constexpr std::chrono::seconds kEvery{1};

constexpr const char* kHome = "\033[H";
constexpr const char* kClear = "\033[2J";
constexpr const char* kEndOfLine = "\033[K";
constexpr const char* kBelow = "\033[J";

std::string frame_of(const ListArguments& arguments, const Place& place, const Streams& streams) {
  std::ostringstream frame;
  std::ostringstream elsewhere;  // Malformed documents are in the table, too.
  Streams into{streams.in, frame, elsewhere};
  into.out_in_colour = streams.out_in_colour;
  into.out_width = streams.out_width;
  try {
    list(arguments, place, into);
  } catch (const Error& error) {
    return std::string("distlock: ") + error.what() + '\n';
  }
  return frame.str();
}

// Writes over the last frame, without a flicker. Lines that do not fit the terminal are left out.
void redraw(std::ostream& out, const std::string& frame, std::size_t height) {
  out << kHome;
  std::istringstream lines(frame);
  std::string line;
  for (std::size_t i = 1; (height == 0 || i < height) && std::getline(lines, line); ++i) {
    out << line << kEndOfLine << '\n';
  }
  out << kBelow;
}

}  // namespace

int watch_list(const ListArguments& arguments, const Place& place, const Streams& streams,
               const std::stop_token& stop) {
  const bool on_terminal = streams.out_width > 0;
  if (on_terminal) streams.out << kClear;
  do {
    const std::string frame = frame_of(arguments, place, streams);
    if (on_terminal) {
      redraw(streams.out, frame, streams.out_height);
    } else {
      streams.out << frame << '\n';
    }
    if (!streams.out.flush()) break;
  } while (place.clock.wait_until(place.clock.steady_now() + kEvery, stop));
  return kSuccess;
}

}  // namespace distlock::cli
