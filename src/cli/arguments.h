#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/countdown.h"

// The wing src/cli/: the command `distlock`. main.cpp reads the arguments and hands each command
// what it needs, so that the commands are functions of it: run.h, status.h (and list), break.h,
// watch.h, role.h.
//
//   arguments.h, parse.h, command_options.h             the command line: its values, its reader
//   help.h, duration.h                                  the help; durations
//   connection.h, opening.h, secrets.h                  which store; waiting for it; its password
//   run.h, supervision.h, countdown.h                   COMMAND under a hold, and when it ends
//   child_process.h, descendants.h, keeper.h            its processes, and the keeper of them
//   view.h, view_text.h, view_json.h, table.h           what status, list and break show
//   signals.h, messages.h, log_sink.h, leaving.h        the process itself
namespace distlock::cli {

/// Where the store is: the first of these that is there.
struct StoreArguments {
  std::optional<std::string> uri;
  bool uri_on_command_line = false;
  std::optional<std::string> uri_file;  ///< Its first line is the connection string.
  std::optional<std::string> fallback;  ///< The SQLite file in the user's state directory.
};

enum class Verbosity { quiet, normal, verbose };

/// Options that every command takes.
struct CommonArguments {
  StoreArguments store;
  Verbosity verbosity = Verbosity::normal;
  bool colour_allowed = true;
};

/// For how long a holder must have been silent. By default of `run`.
struct ContenderWindow {
  std::chrono::milliseconds takeover_after = std::chrono::minutes{1};
  std::chrono::milliseconds unstated_window = std::chrono::minutes{16};  ///< See LockOptions.
};

struct RunArguments {
  CommonArguments common;
  std::string lock;
  std::vector<std::string> command;  ///< Never empty.
  std::string why;
  /// How long to wait for a busy lock: nothing is for ever, 0 is not at all.
  std::optional<std::chrono::milliseconds> wait;
  /// How long of that a store that is away is waited for: nothing is all of it.
  std::optional<std::chrono::milliseconds> store_patience;
  ContenderWindow window;
  std::chrono::milliseconds ping_every{};
  int conflict_exit_status = 1;
  /// Between SIGTERM and SIGKILL for a command whose lock is lost: nothing is what fits.
  std::optional<std::chrono::milliseconds> grace;
  OnLoss on_loss = OnLoss::terminate;
};

enum class Format { text, json, names };

struct StatusArguments {
  CommonArguments common;
  std::optional<std::string> lock;  ///< Nothing: all that are taken.
  Format format = Format::text;
  ContenderWindow window;  ///< By which a takeover is judged.
};

struct ListArguments {
  CommonArguments common;
  std::optional<std::string> pattern;  ///< As in a shell; nothing: all names.
  bool held = false;                   ///< Only locks that are held, and no pings.
  bool watch = false;                  ///< Again and again.
  Format format = Format::text;
  ContenderWindow window;  ///< By which a takeover is judged.
};

struct BreakArguments {
  CommonArguments common;
  std::string lock;
  bool confirmed = false;
  bool wait = false;  ///< Until the old holder acts no more.
};

struct ReadmitArguments {
  CommonArguments common;
  std::size_t member = 1;  ///< From 1 on.
  bool confirmed = false;
};

struct RoleArguments {
  std::string name = "distlock";
  std::string database = "config";
  bool read_only = false;
};

/// Text that was asked for: the help or the version.
struct Information {
  std::string text;
};

/// The error of a command line, without "distlock: ". Never shows a connection string.
struct UsageError {
  std::string problem;
};

using Arguments = std::variant<RunArguments, StatusArguments, ListArguments, BreakArguments,
                               ReadmitArguments, RoleArguments, Information, UsageError>;

/// The value of an environment variable, or null.
using GetEnvironment = std::function<const char*(const char* name)>;

}  // namespace distlock::cli
