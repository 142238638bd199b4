#include "cli/watch.h"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>

#include "cli/exit_status.h"
#include "distlock/error.h"
#include "failure.h"

namespace distlock::cli {
namespace {

constexpr std::chrono::seconds kEvery{1};

constexpr const char* kHome = "\033[H";
constexpr const char* kClear = "\033[2J";
constexpr const char* kEndOfLine = "\033[K";
constexpr const char* kBelow = "\033[J";

std::string shown(const Error& error) { return std::string("distlock: ") + error.what() + '\n'; }

/// Draws one list after the other, of the store as far as it is there.
class Frames {
 public:
  explicit Frames(const WatchedStore& watched) : watched_(watched) {}

  std::string next(const ListArguments& arguments, const Streams& streams) {
    try {
      if (!store_) store_ = watched_.open();
    } catch (const Error& error) {
      if (!may_pass(error)) throw;
      return shown(error);
    }
    return listed(arguments, streams);
  }

 private:
  std::string listed(const ListArguments& arguments, const Streams& streams) {
    std::ostringstream frame;
    std::ostringstream elsewhere;  // Malformed documents are in the table, too.
    Streams into{streams.in, frame, elsewhere};
    into.out_in_colour = streams.out_in_colour;
    into.out_width = streams.out_width;
    try {
      list(arguments, {*store_, watched_.clock, watched_.connection}, into);
    } catch (const Error& error) {
      // Where a file was replaced, only another opening finds the new one.
      const StoreKind kind = watched_.connection.kind();
      if (kind == StoreKind::sqlite || kind == StoreKind::mirrored) store_.reset();
      return shown(error);
    }
    return frame.str();
  }

  const WatchedStore& watched_;
  std::shared_ptr<Store> store_;
};

// Writes over the last frame, without a flicker. Says how many lines do not fit the terminal.
void redraw(std::ostream& out, const std::string& frame, std::size_t height) {
  const auto all = static_cast<std::size_t>(std::count(frame.begin(), frame.end(), '\n'));
  // The cursor needs a line of its own.
  const std::size_t room = height < 2 ? all : height - 1;
  const std::size_t fit = all <= room ? all : room - 1;
  out << kHome;
  std::istringstream lines(frame);
  std::string line;
  for (std::size_t i = 0; i < fit && std::getline(lines, line); ++i) {
    out << line << kEndOfLine << '\n';
  }
  if (fit < all) out << "… and " << all - fit << " more lines" << kEndOfLine << '\n';
  out << kBelow;
}

// Takes a changed size over. A terminal that does not say it any more keeps the last one.
bool resize(const WatchedStore& watched, Streams& streams) {
  if (!watched.terminal) return false;
  const auto [width, height] = watched.terminal();
  if (width == 0 || (width == streams.out_width && height == streams.out_height)) return false;
  streams.out_width = width;
  streams.out_height = height;
  return true;
}

}  // namespace

int watch_list(const ListArguments& arguments, const WatchedStore& watched, const Streams& streams,
               const std::stop_token& stop) {
  Streams sized = streams;
  const bool on_terminal = streams.out_width > 0;
  Frames frames(watched);
  if (on_terminal) streams.out << kClear;
  do {
    const bool resized = on_terminal && resize(watched, sized);
    const std::string frame = frames.next(arguments, sized);
    if (resized) streams.out << kClear;
    if (on_terminal) {
      redraw(streams.out, frame, sized.out_height);
    } else {
      streams.out << frame << '\n';
    }
    if (!streams.out.flush()) break;
  } while (watched.clock.wait_until(watched.clock.steady_now() + kEvery, stop));
  return kSuccess;
}

}  // namespace distlock::cli
