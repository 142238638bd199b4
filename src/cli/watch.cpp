#include "cli/watch.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.h"
#include "distlock/error.h"
#include "failure.h"
#include "text.h"

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
      was_open_ = true;
    } catch (const Error& error) {
      // A store that was there once may come back, whatever keeps it away now.
      if (!was_open_ && !may_pass(error)) throw;
      return frame_of({.message = shown(error)}, arguments.format, streams);
    }
    return listed(arguments, streams);
  }

 private:
  std::string listed(const ListArguments& arguments, const Streams& streams) {
    std::ostringstream frame;
    std::ostringstream malformed;  // These documents are in the table, too.
    std::ostringstream warnings;
    Streams into{streams.in, frame, malformed};
    into.warnings = &warnings;
    into.out_in_colour = streams.out_in_colour;
    into.out_width = streams.out_width;
    std::string message;
    try {
      list(arguments, {*store_, watched_.clock, watched_.connection}, into);
    } catch (const Error& error) {
      // Where a file was replaced, only another opening finds the new one.
      const StoreKind kind = watched_.connection.kind();
      if (kind == StoreKind::sqlite || kind == StoreKind::mirrored) store_.reset();
      message = shown(error);
    }
    if (arguments.format == Format::names && message.empty()) message = malformed.str();
    return frame_of({warnings.str(), frame.str(), message}, arguments.format, streams);
  }

  struct Frame {
    std::string warnings = {};  // Above the list: on a terminal the end of a long one is not seen.
    std::string data = {};
    std::string message = {};
  };

  // A program reads names and JSON, and no message among them. On a terminal the next frame would
  // hide the error stream.
  std::string frame_of(const Frame& frame, Format format, const Streams& streams) {
    if (format == Format::text || streams.out_width > 0)
      return frame.warnings + frame.data + frame.message;
    tell_new(frame.message + frame.warnings, streams.err);
    return frame.data;
  }

  void tell_new(const std::string& problems, std::ostream& err) {
    std::set<std::string> now;
    std::istringstream lines(problems);
    for (std::string line; std::getline(lines, line);) {
      if (!told_.contains(line)) err << line << '\n';
      now.insert(line);
    }
    told_ = std::move(now);
  }

  const WatchedStore& watched_;
  std::shared_ptr<Store> store_;
  bool was_open_ = false;
  std::set<std::string> told_;  // Of the last list.
};

// Without the sequences of colours.
std::size_t letters_in(const std::string& line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\033') {
      at = std::min(line.find('m', at), line.size());
    } else {
      plain += line[at];
    }
  }
  return characters_of(plain).size();
}

struct Line {
  explicit Line(std::string line) : text(std::move(line)), letters(letters_in(text)) {}

  std::string text;
  std::size_t letters;
};

std::size_t rows_of(const Line& line, std::size_t width) {
  return std::max<std::size_t>(1, (line.letters + width - 1) / width);
}

// Behind a line that fills its row the cursor stands on its last letter.
void draw(std::ostream& out, const Line& line, std::size_t width) {
  const bool fills = line.letters > 0 && line.letters % width == 0;
  out << (fills ? kEndOfLine : "") << line.text << (fills ? "" : kEndOfLine) << '\n';
}

Line more(std::size_t lines) { return Line("… and " + std::to_string(lines) + " more lines"); }

// How many lines are drawn, so that none scrolls. The cursor needs a row of its own.
std::size_t fitting(const std::vector<Line>& lines, const Streams& terminal) {
  if (terminal.out_height < 2) return lines.size();
  const std::size_t room = terminal.out_height - 1;
  const std::size_t for_more = rows_of(more(lines.size()), terminal.out_width);
  std::size_t rows = 0;
  std::size_t beside_more = 0;
  for (const Line& line : lines) {
    rows += rows_of(line, terminal.out_width);
    if (rows + for_more <= room) ++beside_more;
  }
  return rows <= room ? lines.size() : beside_more;
}

// Writes over the last frame, without a flicker. Says how many lines do not fit the terminal.
void redraw(const Streams& terminal, const std::string& frame) {
  std::vector<Line> lines;
  std::istringstream text(frame);
  for (std::string line; std::getline(text, line);) lines.emplace_back(line);
  const std::size_t fit = fitting(lines, terminal);
  terminal.out << kHome;
  for (std::size_t i = 0; i < fit; ++i) draw(terminal.out, lines[i], terminal.out_width);
  if (fit < lines.size()) draw(terminal.out, more(lines.size() - fit), terminal.out_width);
  terminal.out << kBelow;
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
      redraw(sized, frame);
    } else {
      streams.out << frame << '\n';
    }
    if (!streams.out.flush()) break;
  } while (watched.clock.wait_until(watched.clock.steady_now() + kEvery, stop));
  return kSuccess;
}

}  // namespace distlock::cli
