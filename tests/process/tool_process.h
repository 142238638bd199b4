#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/temporary_folder.h"

namespace distlock::testing {

/// The path of the tool: of the built one, or of one with a bug that tools/mutants has planted.
std::string tool_path();

/// In a child before its exec. Programs that a shell has started in the background ignore both, and
/// so would the tool.
void heed_the_keyboard();

/// The built tool as a process of its own, with pipes for its standard streams.
///
/// Every wait is for something that the tool does, and fails the test if that takes minutes.
class ToolProcess {
 public:
  using Environment = std::map<std::string, std::string>;
  enum class Messages {
    read,
    in_a_full_pipe,
    in_a_full_pipe_that_refuses,  ///< Another program has made it O_NONBLOCK.
  };

  /// Starts `distlock WORDS...` with PATH and `environment`, and without the right to override the
  /// permissions of files, which the tests have if they run as root. The driver keeps no counters
  /// in /dev/shm: one that is killed would leave them behind, and a later one would warn of it.
  /// `closed`: standard streams that it does not get.
  ToolProcess(const std::vector<std::string>& words, const Environment& environment,
              Messages messages = Messages::read, const std::vector<int>& closed = {});
  /// Kills it if it still runs.
  ~ToolProcess();
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  pid_t id() const { return id_; }
  void send(int signal) const;
  /// Whether it has the file mapped into its memory.
  bool maps(const std::filesystem::path& file) const;
  void close_input();
  /// At once, whether it has ended.
  bool has_ended() const;

  /// The next line that it or its child writes to standard output, or standard error.
  std::string next_output();
  std::string next_message();

  /// Its exit status, or 128 + n if signal n ended it.
  int wait();
  /// The signal that has ended it, or 0.
  int signal() const { return signal_; }
  /// The output that was not read yet, once every writer has ended.
  std::string rest_of_output();
  std::string rest_of_messages();

 private:
  struct Stream {
    int descriptor = -1;
    std::string text;
  };
  static bool fill(Stream& stream);
  static std::string next_line(Stream& stream);
  static std::string rest(Stream& stream);

  pid_t id_ = -1;
  int status_ = -1;
  int signal_ = 0;
  int input_ = -1;
  Stream output_;
  Stream messages_;
};

}  // namespace distlock::testing
