#pragma once

namespace distlock::cli {

/// From its making on, what is written to std::cerr and std::clog reaches standard error line by
/// line on a thread of its own. So a terminal that is stopped, or a pipe that nobody reads, holds
/// up neither pings nor signals nor the end of a command.
///
/// Make it once, after Signals.
class BackgroundMessages {
 public:
  BackgroundMessages();
  /// Waits a second at most for what is left to be written.
  ~BackgroundMessages();
  BackgroundMessages(const BackgroundMessages&) = delete;
  BackgroundMessages& operator=(const BackgroundMessages&) = delete;
};

}  // namespace distlock::cli
