#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cli/duration.h"
#include "distlock/options.h"
#include "text.h"

#ifndef DISTLOCK_VERSION
#error "the build names the version"
#endif

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

constexpr std::string_view kHelp = R"(distlock: distributed locks in the manner of mongos

Usage: distlock run [OPTION...] NAME [--] COMMAND [ARGUMENT...]
       distlock status [OPTION...] [NAME]
       distlock list [OPTION...]
       distlock break [OPTION...] NAME
       distlock --help | --version

  run     hold the lock NAME while COMMAND runs
  status  show who holds NAME, or every lock that is held
  list    show all locks and pings
  break   free NAME, whoever holds it

`distlock COMMAND --help` lists the options. See also distlock(1).
)";

constexpr std::size_t kNameMost = 1000;

class Usage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A word that has no place on the command line may still be somebody's password.
std::string shown(const std::string& word) {
  return word.find("://") == std::string::npos ? distlock::quoted(word) : "a connection string";
}

milliseconds duration_from(const std::string& option, const std::string& text) {
  const auto duration = parse_duration(text);
  if (!duration) {
    throw Usage("--" + option + ": " + distlock::quoted(text) +
                " is no duration; write 500ms, 3s, 16m, 2h or 1d");
  }
  return *duration;
}

milliseconds positive_from(const std::string& option, const std::string& text) {
  const milliseconds duration = duration_from(option, text);
  if (duration.count() == 0) throw Usage("--" + option + " must be more than 0");
  return duration;
}

int exit_status_from(const std::string& text) {
  int status = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, status);
  if (error != std::errc{} || rest != end || status < 0 || status > 255) {
    throw Usage("--conflict-exit-code: " + distlock::quoted(text) +
                " is no exit status; write 0 to 255");
  }
  return status;
}

OnLoss on_loss_from(const std::string& text) {
  if (text == "term") return OnLoss::terminate;
  if (text == "kill") return OnLoss::kill;
  if (text == "ignore") return OnLoss::ignore;
  throw Usage("--on-loss: " + distlock::quoted(text) + " is none of term, kill, ignore");
}

std::string checked_name(const std::string& name) {
  if (name.empty()) throw Usage("the lock's name is empty");
  if (name.size() > kNameMost) {
    throw Usage("the lock's name has " + std::to_string(name.size()) + " bytes; at most " +
                std::to_string(kNameMost) + " fit");
  }
  if (name.find('\0') != std::string::npos) throw Usage("the lock's name contains a NUL");
  if (!is_utf8(name)) throw Usage("the lock's name is not UTF-8: " + distlock::quoted(name));
  return name;
}

class Help : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_("Usage: distlock " + usage + "\n") {}

  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return usage_;
  }

 private:
  std::string usage_;
};

/// One command's options: those given on the command line, else in the environment.
class Options {
 public:
  Options(const std::string& usage, const std::string& purpose, const GetEnvironment& get)
      : app_(purpose), get_(get) {
    app_.formatter(std::make_shared<HelpFormatter>(usage));
    app_.set_help_flag("-h,--help", "show this and exit");
    add("uri", "CONNECTION", "where the locks are: sqlite:PATH or mongodb://...");
    add("uri-file", "FILE", "read the connection string from the first line of FILE");
    app_.get_option("--uri")->excludes("--uri-file");
    flag("-q,--quiet", "say only what went wrong");
    flag("-v,--verbose", "tell every step");
    flag("--no-color", "no colour on a terminal");
  }

  CLI::App& app() { return app_; }

  void add(const std::string& name, const std::string& value, const std::string& purpose,
           const std::string& short_name = {}) {
    const std::string description = purpose + " [$" + variable(name) + "]";
    app_.add_option(short_name + "--" + name, description)->type_name(value)->take_last();
  }

  void flag(const std::string& names, const std::string& purpose) {
    app_.add_flag(names, purpose)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  /// CLI11 wants the words last first.
  void parse(Words words) {
    std::reverse(words.begin(), words.end());
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      throw Help(app_.help());
    }
  }

  bool given(const std::string& flag) const { return app_.count("--" + flag) > 0; }

  std::optional<std::string> on_command_line(const std::string& name) const {
    const CLI::Option* option = app_.get_option("--" + name);
    if (option->count() == 0) return std::nullopt;
    return option->results().back();
  }

  std::optional<std::string> in_environment(const std::string& name) const {
    const char* text = get_(variable(name).c_str());
    if (text == nullptr || *text == '\0') return std::nullopt;
    return text;
  }

  std::optional<std::string> value(const std::string& name) const {
    auto found = on_command_line(name);
    return found ? found : in_environment(name);
  }

  CommonArguments common() const;

 private:
  static std::string variable(const std::string& name) {
    std::string text = "DISTLOCK_";
    for (const char letter : name) {
      text += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
    }
    return text;
  }

  StoreArguments store() const;

  CLI::App app_;
  const GetEnvironment& get_;
};

// An absolute directory, as the XDG specification wants it; others are to be ignored.
std::optional<std::string> directory(const GetEnvironment& get, const char* name) {
  const char* path = get(name);
  if (path == nullptr || *path != '/') return std::nullopt;
  return path;
}

StoreArguments Options::store() const {
  StoreArguments store;
  store.uri = on_command_line("uri");
  store.uri_file = on_command_line("uri-file");
  if (store.uri || store.uri_file) return store;
  store.uri = in_environment("uri");
  store.uri_file = in_environment("uri-file");
  if (const auto state = directory(get_, "XDG_STATE_HOME")) {
    store.fallback = "sqlite:" + *state + "/distlock/locks.db";
  } else if (const auto home = directory(get_, "HOME")) {
    store.fallback = "sqlite:" + *home + "/.local/state/distlock/locks.db";
  }
  return store;
}

CommonArguments Options::common() const {
  CommonArguments common;
  common.store = store();
  if (given("quiet") && given("verbose")) throw Usage("--quiet and --verbose contradict");
  if (given("quiet")) common.verbosity = Verbosity::quiet;
  if (given("verbose")) common.verbosity = Verbosity::verbose;
  const char* no_color = get_("NO_COLOR");
  common.colour_allowed = !given("no-color") && (no_color == nullptr || *no_color == '\0');
  return common;
}

std::string why_from(const Options& options, const Words& command) {
  if (const auto why = options.value("why")) {
    if (!is_utf8(*why)) throw Usage("--why: " + distlock::quoted(*why) + " is not UTF-8");
    return *why;
  }
  // Arguments often hold secrets, and the record is there for all to read: the command alone.
  return is_utf8(command.front()) ? command.front() : escaped(command.front());
}

std::optional<milliseconds> wait_from(const Options& options) {
  if (options.given("nonblock")) return milliseconds{0};
  if (const auto wait = options.value("wait")) return duration_from("wait", *wait);
  return std::nullopt;
}

milliseconds ping_every_from(const Options& options, milliseconds takeover_after) {
  if (const auto text = options.value("ping-every")) return positive_from("ping-every", *text);
  return std::clamp(takeover_after / 8, milliseconds{1}, PingerOptions{}.ping_every);
}

// What follows the options: the lock's name and the command, whose own options and `--` stay its.
Words run_words(Options& options, const Words& words) {
  CLI::Option* const name = options.app().add_option("NAME")->group("");
  const auto cut = std::find(words.begin(), words.end(), "--");
  options.parse({words.begin(), cut});
  const Words rest = options.app().remaining();
  if (!rest.empty() && rest.front().size() > 1 && rest.front().front() == '-') {
    throw Usage("unknown option " + shown(rest.front().substr(0, rest.front().find('='))));
  }
  Words result = name->results();
  result.insert(result.end(), rest.begin(), rest.end());
  // `run NAME git checkout -- FILE`: the command began before, so this `--` is a word of it.
  if (!rest.empty() && cut != words.end()) result.emplace_back("--");
  if (cut != words.end()) result.insert(result.end(), cut + 1, words.end());
  return result;
}

Arguments parse_run(const Words& words, const GetEnvironment& get) {
  Options options("run [OPTION...] NAME [--] COMMAND [ARGUMENT...]",
                  "Holds the lock NAME while COMMAND runs; exits with its status.", get);
  options.app().prefix_command();
  options.flag("-n,--nonblock", "do not wait for a busy lock");
  options.add("wait", "DURATION", "wait so long for a busy lock; without it, for ever", "-w,");
  options.app().get_option("--nonblock")->excludes("--wait");
  options.add("conflict-exit-code", "N", "exit with N instead of 1 if the lock stays busy", "-E,");
  options.add("why", "TEXT", "what for, shown to others; without it, COMMAND");
  options.add("takeover-after", "DURATION", "silence after which others take over; else 16m");
  options.add("ping-every", "DURATION", "else 30s, or an eighth of a shorter --takeover-after");
  options.add("grace", "DURATION", "from SIGTERM to SIGKILL if the lock is lost; else 5s or less");
  options.add("on-loss", "WHAT", "if the lock is lost: term, kill or ignore; else term");

  Words rest = run_words(options, words);
  RunArguments run;
  run.common = options.common();
  if (rest.empty()) throw Usage("run: NAME and COMMAND are missing");
  run.lock = checked_name(rest.front());
  run.command.assign(rest.begin() + 1, rest.end());
  if (run.command.empty()) throw Usage("run: COMMAND is missing");
  run.why = why_from(options, run.command);
  run.wait = wait_from(options);
  run.takeover_after = LockOptions{}.takeover_after;
  if (const auto text = options.value("takeover-after")) {
    run.takeover_after = positive_from("takeover-after", *text);
  }
  run.ping_every = ping_every_from(options, run.takeover_after);
  if (const auto status = options.value("conflict-exit-code")) {
    run.conflict_exit_status = exit_status_from(*status);
  }
  if (const auto grace = options.value("grace")) run.grace = duration_from("grace", *grace);
  if (const auto what = options.value("on-loss")) run.on_loss = on_loss_from(*what);
  return run;
}

// The words that are no options: at most `most`.
Words parse_plain(Options& options, const Words& words, std::size_t most) {
  options.app().allow_extras();
  const auto cut = std::find(words.begin(), words.end(), "--");
  options.parse({words.begin(), cut});
  Words rest = options.app().remaining();
  for (const std::string& word : rest) {
    if (word.size() > 1 && word.front() == '-') {
      throw Usage("unknown option " + shown(word.substr(0, word.find('='))));
    }
  }
  if (cut != words.end()) rest.insert(rest.end(), cut + 1, words.end());
  if (rest.size() > most) throw Usage("unexpected " + shown(rest[most]));
  return rest;
}

std::optional<milliseconds> contender_window(const Options& options) {
  const auto text = options.value("takeover-after");
  if (!text) return std::nullopt;
  return positive_from("takeover-after", *text);
}

void add_format(Options& options) {
  options.flag("--json", "write JSON (docs/cli.md)");
  options.add("takeover-after", "DURATION", "judge as a contender with this one would");
}

Arguments parse_status(const Words& words, const GetEnvironment& get) {
  Options options("status [OPTION...] [NAME]", "Shows who holds NAME, or every lock that is held.",
                  get);
  add_format(options);
  const Words rest = parse_plain(options, words, 1);
  StatusArguments status;
  status.common = options.common();
  if (!rest.empty()) status.lock = checked_name(rest.front());
  if (options.given("json")) status.format = Format::json;
  status.takeover_after = contender_window(options);
  return status;
}

Arguments parse_list(const Words& words, const GetEnvironment& get) {
  Options options("list [OPTION...]", "Shows all locks and pings.", get);
  add_format(options);
  options.flag("--names", "write the names of the locks only, one a line");
  options.app().get_option("--names")->excludes("--json");
  parse_plain(options, words, 0);
  ListArguments list;
  list.common = options.common();
  if (options.given("json")) list.format = Format::json;
  if (options.given("names")) list.format = Format::names;
  list.takeover_after = contender_window(options);
  return list;
}

Arguments parse_break(const Words& words, const GetEnvironment& get) {
  Options options("break [OPTION...] NAME",
                  "Frees NAME, whoever holds it: shows the hold, asks, and frees that.", get);
  options.flag("-y,--yes", "do not ask");
  const Words rest = parse_plain(options, words, 1);
  BreakArguments arguments;
  arguments.common = options.common();
  if (rest.empty()) throw Usage("break: NAME is missing");
  arguments.lock = checked_name(rest.front());
  arguments.confirmed = options.given("yes");
  return arguments;
}

Arguments parse_command(const Words& words, const GetEnvironment& get) {
  if (words.empty()) throw Usage("a command is missing");
  const std::string& command = words.front();
  const Words rest(words.begin() + 1, words.end());
  if (command == "run") return parse_run(rest, get);
  if (command == "status") return parse_status(rest, get);
  if (command == "list") return parse_list(rest, get);
  if (command == "break") return parse_break(rest, get);
  if (command == "-h" || command == "--help" || command == "help") {
    return Information{std::string(kHelp)};
  }
  if (command == "-V" || command == "--version") {
    return Information{"distlock " DISTLOCK_VERSION "\n"};
  }
  if (command.starts_with('-')) throw Usage("options follow the command: run, status, list, break");
  throw Usage("unknown command " + shown(command));
}

}  // namespace

Arguments parse_arguments(const Words& words, const GetEnvironment& get) {
  try {
    return parse_command(words, get);
  } catch (const Help& help) {
    return Information{help.what()};
  } catch (const Usage& error) {
    return UsageError{error.what()};
  } catch (const CLI::ParseError& error) {
    return UsageError{error.what()};
  }
}

}  // namespace distlock::cli
