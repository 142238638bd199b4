#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace distlock::cli {

/// For messages: `SIGTERM`.
std::string signal_name(int number);

/// Ignores a signal that would end us for a write that fails (SIGPIPE, SIGXFSZ): then the write is
/// an error. To be called before there are threads.
void ignore(int number);

/// Those that end a program, and that `run` passes on: TERM, INT, HUP and QUIT.
inline constexpr std::array kEndingSignals{SIGTERM, SIGINT, SIGHUP, SIGQUIT};

bool is_ignored(int number);

/// The kernel keeps from the first process of a container (`process` is 1) each signal that it has
/// no handler for. From here on TERM, INT, HUP and QUIT end it as they end any other process.
void heed_signals_as_first_process(pid_t process);

/// SIGPIPE, SIGXFSZ and SIGCHLD as this program was given them, for a command, and no handler for
/// those that end programs. Safe between fork and exec.
void restore_dispositions();

/// A signal that was sent to this process.
struct Signal {
  int number = 0;
  /// Sent by the terminal to every process of the foreground group.
  bool to_group = false;
};

/// How signals are treated when nobody waits for them any more.
enum class AfterSignals {
  as_before,
  /// They end nothing: a program whose status says how its command ended ends with that status.
  blocked,
};

/// Turns TERM, INT, HUP, QUIT and CHLD into values that one waits for, in a file descriptor.
///
/// Signals that were ignored when the program began (nohup) stay ignored. Make it before the first
/// thread, since threads inherit the mask of the one that started them; it ends after the last of
/// them.
class Signals {
 public:
  explicit Signals(AfterSignals after = AfterSignals::as_before);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Readable when a signal is there.
  int descriptor() const { return descriptor_; }

  /// The next signal, if one is there. Does not wait.
  std::optional<Signal> next() const;

  /// As it was before, for a child to be given.
  const sigset_t& mask_before() const { return mask_before_; }

 private:
  const AfterSignals after_;
  sigset_t mask_before_{};
  int descriptor_ = -1;
};

/// While it lives, the first signal that ends programs requests a stop.
class StopOnSignal {
 public:
  explicit StopOnSignal(const Signals& signals);
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

  /// Ends the watching. Gives the number of the signal that has requested the stop, if one has.
  std::optional<int> end();

 private:
  void watch(const Signals& signals);

  std::stop_source stop_;
  std::atomic<int> number_ = 0;
  int wake_ = -1;
  std::thread thread_;
};

}  // namespace distlock::cli
