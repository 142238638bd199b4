#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/help.h"

namespace distlock::cli {

using Words = std::vector<std::string>;

/// The error of a command line.
class Usage : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The help that was asked for.
class Help : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// One command's options: those given on the command line, else in the environment.
class CommandOptions {
 public:
  /// `get` has to outlive it.
  CommandOptions(const std::string& usage, const std::string& purpose, const GetEnvironment& get);

  CLI::App& app() { return app_; }

  /// Those that common() reads.
  void add_common();
  void add(const std::string& name, const std::string& value, const std::string& purpose,
           const std::string& short_name = {});
  /// An option that the environment does not give.
  void add_without_variable(const std::string& name, const std::string& value,
                            const std::string& purpose);
  void flag(const std::string& names, const std::string& purpose);

  void parse(const Words& words);

  /// The words that parse() has found no place for, as they were given.
  Words remaining() const;

  bool given(const std::string& flag) const { return app_.count("--" + flag) > 0; }
  std::optional<std::string> value(const std::string& name) const;
  std::optional<std::string> on_command_line(const std::string& name) const;
  CommonArguments common() const;

  /// For messages: where the value of `name` is from, `--wait` or `DISTLOCK_WAIT`.
  std::string source_of(const std::string& name) const;
  /// They throw Usage where the value cannot be used.
  std::optional<std::chrono::milliseconds> duration(const std::string& name) const;
  std::optional<std::chrono::milliseconds> positive_duration(const std::string& name) const;
  ContenderWindow window() const;

 private:
  std::optional<std::string> in_environment(const std::string& name) const;
  StoreArguments store() const;

  void check_flags() const;

  CLI::App app_;
  std::string usage_;
  std::vector<OptionHelp> help_;
  std::vector<const CLI::Option*> flags_;
  const GetEnvironment& get_;
};

/// For a message: a word that has no place on the command line.
std::string shown(const std::string& word);

/// For a message: a word that is an unknown option, without its value.
std::string option_name(const std::string& word);

/// Throws Usage. `what`: the name in the help of the word that is one.
[[noreturn]] void refuse_connection_string(const std::string& what);

/// The same if may_show_a_password().
void check_is_no_connection_string(const std::string& word, const std::string& what);

/// Throws Usage if has_address_with_a_password(). `what`: as above.
void check_shows_no_password(const std::string& text, const std::string& what);

/// A lock's name. Throws Usage where it cannot be used.
std::string checked_name(const std::string& name);

}  // namespace distlock::cli
