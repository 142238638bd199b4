#include "cli/command_options.h"

#include <algorithm>
#include <utility>

#include "cli/duration.h"
#include "cli/help.h"
#include "cli/passwords.h"
#include "distlock/error.h"
#include "protocol/protocol.h"
#include "text.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

// Stands for the empty value of `--option=`, for which CLI11 would take the next word. No word that
// a program is given has a NUL.
const std::string kEmptyValue("\0", 1);

Words with_empty_values(Words words) {
  for (std::string& word : words) {
    const bool ends_in_equals = word.find('=') == word.size() - 1;
    if (word.starts_with("--") && ends_in_equals) word += kEmptyValue;
  }
  return words;
}

std::string as_given(std::string word) {
  if (word.ends_with(kEmptyValue)) word.resize(word.size() - kEmptyValue.size());
  return word;
}

std::string variable(const std::string& name) {
  std::string text = "DISTLOCK_";
  for (const char letter : name) {
    text += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

// An absolute directory, as the XDG specification wants it; it tells programs to ignore other
// values. Without slashes at its end, since a path that begins with two is refused.
std::optional<std::string> directory(const GetEnvironment& get, const char* name) {
  const char* path = get(name);
  if (path == nullptr || *path != '/') return std::nullopt;
  const std::string_view text(path);
  return std::string(text.substr(0, text.find_last_not_of('/') + 1));
}

}  // namespace

// NOLINTNEXTLINE(modernize-pass-by-value): copied once a run.
CommandOptions::CommandOptions(const std::string& usage, const std::string& purpose,
                               const GetEnvironment& get)
    : app_(purpose), usage_(usage), get_(get) {
  flags_.push_back(app_.set_help_flag("-h,--help", ""));
  help_.push_back({"-h, --help", "", "show this and exit"});
}

void CommandOptions::add_common() {
  add("uri", "CONNECTION",
      "store of the locks: sqlite:PATH or mongodb://..., or mirrored+ before several");
  add("uri-file", "FILE", "read the connection string from the first line of FILE");
  app_.get_option("--uri")->excludes("--uri-file");
  flag("-q,--quiet", "show problems only");
  flag("-v,--verbose", "show every step");
  flag("--no-color", "no colour on a terminal");
}

void CommandOptions::add(const std::string& name, const std::string& value,
                         const std::string& purpose, const std::string& short_name) {
  app_.add_option(short_name + "--" + name)->take_last();
  const std::string space = short_name.empty() ? "" : " ";
  help_.push_back(
      {short_name + space + "--" + name, value, purpose + " [$" + variable(name) + "]"});
}

void CommandOptions::add_without_variable(const std::string& name, const std::string& value,
                                          const std::string& purpose) {
  app_.add_option("--" + name)->take_last();
  help_.push_back({"--" + name, value, purpose});
}

void CommandOptions::flag(const std::string& names, const std::string& purpose) {
  flags_.push_back(app_.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast));
  std::string shown_names = names;
  if (const auto comma = names.find(','); comma != names.npos) shown_names.insert(comma + 1, " ");
  help_.push_back({shown_names, "", purpose});
}

// CLI11 wants the words last first.
void CommandOptions::parse(const Words& words) {
  Words reversed = with_empty_values(words);
  std::reverse(reversed.begin(), reversed.end());
  try {
    app_.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    check_flags();
    throw Help(help_text(usage_, app_.get_description(), help_));
  }
  check_flags();
}

void CommandOptions::check_flags() const {
  for (const CLI::Option* flag : flags_) {
    if (flag->count() == 0 || flag->results().back() == "true") continue;
    throw Usage("--" + flag->get_lnames().front() + " takes no value");
  }
}

Words CommandOptions::remaining() const {
  Words words = app_.remaining();
  std::transform(words.begin(), words.end(), words.begin(), as_given);
  return words;
}

std::optional<std::string> CommandOptions::on_command_line(const std::string& name) const {
  const CLI::Option* option = app_.get_option("--" + name);
  if (option->count() == 0) return std::nullopt;
  return as_given(option->results().back());
}

std::optional<std::string> CommandOptions::in_environment(const std::string& name) const {
  const char* text = get_(variable(name).c_str());
  if (text == nullptr || *text == '\0') return std::nullopt;
  return text;
}

std::optional<std::string> CommandOptions::value(const std::string& name) const {
  auto found = on_command_line(name);
  return found ? found : in_environment(name);
}

StoreArguments CommandOptions::store() const {
  StoreArguments store;
  store.uri = on_command_line("uri");
  store.uri_on_command_line = store.uri.has_value();
  store.uri_file = on_command_line("uri-file");
  if (store.uri && store.uri->empty()) {
    throw Usage("--uri is empty; write sqlite:PATH or mongodb://HOST");
  }
  if (store.uri_file && store.uri_file->empty()) {
    throw Usage("--uri-file is empty; write the name of a file");
  }
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

CommonArguments CommandOptions::common() const {
  CommonArguments common;
  common.store = store();
  if (given("quiet") && given("verbose")) throw Usage("--quiet and --verbose contradict");
  if (given("quiet")) common.verbosity = Verbosity::quiet;
  if (given("verbose")) common.verbosity = Verbosity::verbose;
  const char* no_color = get_("NO_COLOR");
  common.colour_allowed = !given("no-color") && (no_color == nullptr || *no_color == '\0');
  return common;
}

std::string CommandOptions::source_of(const std::string& name) const {
  return on_command_line(name) ? "--" + name : variable(name);
}

std::optional<milliseconds> CommandOptions::duration(const std::string& name) const {
  const auto text = value(name);
  if (!text) return std::nullopt;
  const auto duration = parse_duration(*text);
  if (!duration) {
    throw Usage(source_of(name) + ": " + shown(*text) +
                " is no duration; write 500ms, 3s, 16m, 1h30m or 1d");
  }
  return duration;
}

std::optional<milliseconds> CommandOptions::positive_duration(const std::string& name) const {
  const auto found = duration(name);
  if (found && found->count() == 0) throw Usage(source_of(name) + " must be more than 0");
  return found;
}

// A default window is for holds of ours. The original's processes and MongoDB's own know no window
// but theirs.
ContenderWindow CommandOptions::window() const {
  const auto given = positive_duration("takeover-after");
  return given ? ContenderWindow{*given, milliseconds{0}} : ContenderWindow{};
}

// A word that has no place on the command line may still be somebody's password.
std::string shown(const std::string& word) {
  return word.find("://") == std::string::npos ? in_quotes(word) : "a connection string";
}

std::string option_name(const std::string& word) {
  return shown(word.substr(0, word.find('=', 2)));
}

void refuse_connection_string(const std::string& what) {
  throw Usage(what + " is a connection string; write --uri before it");
}

void check_is_no_connection_string(const std::string& word, const std::string& what) {
  if (may_show_a_password(word)) refuse_connection_string(what);
}

void check_shows_no_password(const std::string& text, const std::string& what) {
  if (!has_address_with_a_password(text)) return;
  throw Usage(what + " has a password in it, and all users can read it; leave that out");
}

std::string checked_name(const std::string& name) try {
  check_is_no_connection_string(name, "NAME");
  if (!is_utf8(name)) throw Usage("lock name " + shown(name) + " is not UTF-8");
  protocol::check_name(name);
  return name;
} catch (const Error& error) {
  throw Usage(error.what());
}

}  // namespace distlock::cli
