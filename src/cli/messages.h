#pragma once

namespace distlock::cli {

/// Writes std::cerr and std::clog to standard error, line by line, on a thread of its own. So a
/// terminal that is stopped, or a pipe that nobody reads, holds up neither pings nor signals nor
/// the end of a command.
///
/// Make it once, after Signals.
class BackgroundMessages {
 public:
  BackgroundMessages();
  /// Waits a second at most until all lines are written.
  ~BackgroundMessages();
  BackgroundMessages(const BackgroundMessages&) = delete;
  BackgroundMessages& operator=(const BackgroundMessages&) = delete;
};

}  // namespace distlock::cli
