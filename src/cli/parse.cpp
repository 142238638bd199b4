#include "cli/parse.h"

#include <algorithm>
#include <string_view>

#include "cli/command_options.h"
#include "cli/passwords.h"
#include "cli/run_arguments.h"
#include "distlock/connection_string.h"
#include "distlock/error.h"
#include "text.h"

#ifndef DISTLOCK_VERSION
#error "the build names the version"
#endif

namespace distlock::cli {
namespace {

constexpr std::string_view kHelp = R"(distlock: one process at a time, of many on many machines

Usage: distlock run [OPTION...] NAME [--] COMMAND [ARGUMENT...]
       distlock status [OPTION...] [NAME]
       distlock list [OPTION...] [PATTERN]
       distlock break [OPTION...] NAME
       distlock readmit [OPTION...] NUMBER
       distlock role [OPTION...]
       distlock --help | --version

  run      hold the lock NAME while COMMAND runs
  status   show who holds NAME, or every lock that is held
  list     show all locks and pings
  break    free NAME, whoever holds it
  readmit  take an emptied member of a mirrored store back
  role     print the command that makes a role for distlock in MongoDB

Example: distlock run nightly -- ./backup.sh

`distlock COMMAND --help`, or `distlock help COMMAND`, lists the options. See also distlock(1).
)";

void refuse_more_than(std::size_t most, const Words& words) {
  if (words.size() > most) throw Usage("unexpected " + shown(words[most]));
}

// The words that are no options: at most `most`.
Words parse_plain(CommandOptions& options, const Words& words, std::size_t most) {
  options.app().allow_extras();
  const auto cut = std::find(words.begin(), words.end(), "--");
  options.parse({words.begin(), cut});
  Words rest = options.remaining();
  for (const std::string& word : rest) {
    if (word.size() > 1 && word.front() == '-') {
      throw Usage("unknown option " + option_name(word));
    }
  }
  if (cut != words.end()) rest.insert(rest.end(), cut + 1, words.end());
  refuse_more_than(most, rest);
  return rest;
}

void add_format(CommandOptions& options) {
  options.flag("--json", "write JSON; see distlock(1)");
  options.add("takeover-after", "DURATION",
              "judge a takeover as `run` with this option; by default 1m");
}

Arguments parse_status(const Words& words, const GetEnvironment& get) {
  CommandOptions options("status [OPTION...] [NAME]",
                         "Shows who holds NAME, or every lock that is held.", get);
  options.add_common();
  add_format(options);
  const Words rest = parse_plain(options, words, 1);
  StatusArguments status;
  status.common = options.common();
  if (!rest.empty()) status.lock = checked_name(rest.front());
  if (options.given("json")) status.format = Format::json;
  status.window = options.window();
  return status;
}

Arguments parse_list(const Words& words, const GetEnvironment& get) {
  CommandOptions options("list [OPTION...] [PATTERN]",
                         "Shows all locks and pings, or the locks whose names match PATTERN, as a "
                         "shell would match them.",
                         get);
  options.add_common();
  add_format(options);
  options.flag("--held", "only locks that are held");
  options.flag("--watch", "show the table anew every second until ^C");
  options.flag("--names", "write the names of the locks only, one a line");
  options.app().get_option("--names")->excludes("--json");
  const Words rest = parse_plain(options, words, 1);
  ListArguments list;
  list.common = options.common();
  if (!rest.empty()) list.pattern = rest.front();
  if (list.pattern) check_is_no_connection_string(*list.pattern, "PATTERN");
  list.held = options.given("held");
  list.watch = options.given("watch");
  if (options.given("json")) list.format = Format::json;
  if (options.given("names")) list.format = Format::names;
  list.window = options.window();
  return list;
}

Arguments parse_break(const Words& words, const GetEnvironment& get) {
  CommandOptions options("break [OPTION...] NAME",
                         "Shows the hold on NAME, asks, and frees exactly that hold.", get);
  options.add_common();
  options.flag("-y,--yes", "do not ask");
  options.flag("--wait", "return when the old holder has noticed or can act no more");
  const Words rest = parse_plain(options, words, 1);
  BreakArguments arguments;
  arguments.common = options.common();
  if (rest.empty()) throw Usage("break: NAME is missing");
  arguments.lock = checked_name(rest.front());
  arguments.confirmed = options.given("yes");
  arguments.wait = options.given("wait");
  return arguments;
}

Arguments parse_readmit(const Words& words, const GetEnvironment& get) {
  CommandOptions options("readmit [OPTION...] NUMBER",
                         "Takes the member NUMBER of a mirrored store back, which lost its data, "
                         "without waiting for the longest window.",
                         get);
  options.add_common();
  options.flag("-y,--yes", "do not ask");
  const Words rest = parse_plain(options, words, 1);
  ReadmitArguments arguments;
  arguments.common = options.common();
  if (rest.empty()) throw Usage("readmit: NUMBER is missing");
  const std::string& number = rest.front();
  if (number.size() != 1 || number.front() < '1' || number.front() > '9') {
    throw Usage("readmit: " + shown(number) + " is no number of a member: 1 to 9");
  }
  arguments.member = static_cast<std::size_t>(number.front() - '0');
  arguments.confirmed = options.given("yes");
  return arguments;
}

// Both are printed.
void check_is_plain_name(const std::string& name, const std::string& option) {
  if (may_show_a_password(name)) throw Usage(option + " is a connection string; write a name");
}

// As a connection string has it, in which a `%` would stand for something else.
void check_is_database(const std::string& name) try {
  if (name.find('%') != name.npos) throw Error(Errc::invalid_argument, "");
  (void)ConnectionString("mongodb://host/" + name);
} catch (const Error&) {
  throw Usage("--database: " + shown(name) + " is no name of a database");
}

void check_role(const RoleArguments& role) {
  if (role.name.empty()) throw Usage("--name must not be empty");
  // To MongoDB it would mean every database.
  if (role.database.empty()) throw Usage("--database must not be empty");
  if (role.database == "local") {
    throw Usage(
        "--database: local is of one server alone, and no locks can be there; name another");
  }
  check_is_plain_name(role.name, "--name");
  check_is_plain_name(role.database, "--database");
  check_is_database(role.database);
  if (!is_utf8(role.name) || !is_utf8(role.database)) throw Usage("role: a name is not UTF-8");
}

Arguments parse_role(const Words& words, const GetEnvironment& get) {
  CommandOptions options(
      "role [OPTION...]",
      "Prints, as JSON, the MongoDB command that makes a role with the least "
      "privileges for distlock: on two collections of one database. For mongosh: "
      "db.getSiblingDB('admin').runCommand(JSON)",
      get);
  options.add_without_variable("name", "NAME", "name of the role; by default distlock");
  options.add_without_variable("database", "DATABASE", "database of the locks; by default config");
  options.flag("--read-only", "enough for list and status");
  parse_plain(options, words, 0);
  RoleArguments role;
  role.name = options.on_command_line("name").value_or(role.name);
  role.database = options.on_command_line("database").value_or(role.database);
  check_role(role);
  role.read_only = options.given("read-only");
  return role;
}

Arguments parse_command(const Words& words, const GetEnvironment& get) {
  if (words.empty()) throw Usage("a command is missing");
  const std::string& command = words.front();
  const Words rest(words.begin() + 1, words.end());
  if (command == "run") return parse_run(rest, get);
  if (command == "status") return parse_status(rest, get);
  if (command == "list") return parse_list(rest, get);
  if (command == "break") return parse_break(rest, get);
  if (command == "readmit") return parse_readmit(rest, get);
  if (command == "role") return parse_role(rest, get);
  if (command == "-h" || command == "--help" || command == "help") {
    const bool of_command =
        rest.size() == 1 && rest.front() != "help" && !rest.front().starts_with('-');
    if (of_command) return parse_command({rest.front(), "--help"}, get);
    refuse_more_than(0, rest);
    return Information{std::string(kHelp)};
  }
  if (command == "-V" || command == "--version") {
    refuse_more_than(0, rest);
    return Information{"distlock " DISTLOCK_VERSION "\n"};
  }
  if (command.starts_with('-'))
    throw Usage("options follow the command: run, status, list, break, readmit, role");
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
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();  // "--wait: 1 required missing"
    return UsageError{text.substr(0, text.find(':')) + " needs a value"};
  } catch (const CLI::ParseError& error) {
    return UsageError{error.what()};
  }
}

}  // namespace distlock::cli
