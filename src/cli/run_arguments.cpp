#include "cli/run_arguments.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "cli/command_options.h"
#include "cli/passwords.h"
#include "distlock/error.h"
#include "distlock/options.h"
#include "protocol/protocol.h"
#include "text.h"

namespace distlock::cli {
namespace {

using std::chrono::milliseconds;

int exit_status_from(const std::string& source, const std::string& text) {
  int status = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, status);
  if (error != std::errc{} || rest != end || status < 0 || status > 255) {
    throw Usage(source + ": " + shown(text) + " is no exit status; write 0 to 255");
  }
  return status;
}

OnLoss on_loss_from(const std::string& source, const std::string& text) {
  if (text == "term") return OnLoss::terminate;
  if (text == "kill") return OnLoss::kill;
  if (text == "ignore") return OnLoss::ignore;
  throw Usage(source + ": " + shown(text) + " is none of term, kill, ignore");
}

void check_why(const CommandOptions& options, const std::string& why) try {
  if (!is_utf8(why)) throw Usage(options.source_of("why") + ": " + shown(why) + " is not UTF-8");
  if (may_show_a_password(why)) {
    throw Usage(options.source_of("why") +
                " has a connection string in it, and all users can read it; leave that out");
  }
  check_shows_no_password(why, options.source_of("why"));
  protocol::check_why(why);
} catch (const Error& error) {
  throw Usage(options.source_of("why") + ": " + error.what());
}

// Cut between two characters where a record has no room for all.
std::string fit_for_a_record(const std::string& text) {
  constexpr std::string_view kCut = "…";
  if (text.size() <= protocol::kWhyBytesMax) return text;
  std::size_t end = protocol::kWhyBytesMax - kCut.size();
  while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end).append(kCut);
}

// It would be stored and printed. No program's name has `://` in it, so a misspelt scheme is known.
void check_command(const Words& command) {
  if (command.empty()) throw Usage("run: COMMAND is missing");
  if (command.front().empty()) throw Usage("run: COMMAND is empty");
  if (command.front().find("://") != std::string::npos) refuse_connection_string("COMMAND");
}

std::string why_from(const CommandOptions& options, const Words& command) {
  if (const auto why = options.value("why")) {
    check_why(options, *why);
    return *why;
  }
  // Arguments often hold secrets, and the record is there for all to read: the command alone.
  const std::string& name = command.front();
  return fit_for_a_record(is_utf8(name) ? name : escaped(name));
}

std::optional<milliseconds> wait_from(const CommandOptions& options) {
  if (options.given("nonblock")) return milliseconds{0};
  return options.duration("wait");
}

milliseconds ping_every_from(const CommandOptions& options, milliseconds takeover_after) {
  const auto given = options.positive_duration("ping-every");
  return given.value_or(PingerOptions::fitting(takeover_after).ping_every);
}

// The words behind the options: the lock's name and the command, whose own options and `--` stay
// its.
Words run_words(CommandOptions& options, const Words& words) {
  CLI::Option* const name = options.app().add_option("NAME")->group("");
  const auto cut = std::find(words.begin(), words.end(), "--");
  options.parse({words.begin(), cut});
  const Words rest = options.remaining();
  if (!rest.empty() && rest.front().size() > 1 && rest.front().front() == '-') {
    throw Usage("unknown option " + option_name(rest.front()));
  }
  Words result = name->results();
  result.insert(result.end(), rest.begin(), rest.end());
  // `run NAME git checkout -- FILE`: the command began before, so this `--` is a word of it.
  if (!rest.empty() && cut != words.end()) result.emplace_back("--");
  if (cut != words.end()) result.insert(result.end(), cut + 1, words.end());
  // `run -- NAME -- COMMAND`: this one, too, stands before the command.
  if (result.size() > 1 && result[1] == "--") result.erase(result.begin() + 1);
  return result;
}

void add_run_options(CommandOptions& options) {
  options.add_common();
  options.app().prefix_command();
  options.flag("-n,--nonblock", "do not wait for a busy lock");
  options.add("wait", "DURATION", "longest wait for a busy lock; by default endless", "-w,");
  options.app().get_option("--nonblock")->excludes("--wait");
  options.add("store-patience", "DURATION",
              "longest wait for a store that is away; by default as --wait");
  options.add("conflict-exit-code", "N", "exit with N instead of 1 if the lock stays busy", "-E,");
  options.add("why", "TEXT", "the purpose, shown to all users; by default COMMAND's first word");
  options.add("takeover-after", "DURATION",
              "silence of the holder before a takeover; by default 1m");
  options.add("ping-every", "DURATION",
              "time between two pings; by default an eighth of --takeover-after, at most 30s");
  options.add("grace", "DURATION",
              "time from SIGTERM to SIGKILL if the lock is lost; by default 5s or less");
  options.add("on-loss", "WHAT", "what follows a loss: term (the default), kill, ignore");
}

}  // namespace

Arguments parse_run(const Words& words, const GetEnvironment& get) {
  CommandOptions options(
      "run [OPTION...] NAME [--] COMMAND [ARGUMENT...]",
      "Holds the lock NAME while COMMAND runs; exits with its status. The options end at "
      "COMMAND, or at --: all later words are COMMAND's.",
      get);
  add_run_options(options);
  Words rest = run_words(options, words);
  RunArguments run;
  run.common = options.common();
  if (rest.empty()) throw Usage("run: NAME and COMMAND are missing");
  run.lock = checked_name(rest.front());
  check_shows_no_password(run.lock, "NAME");
  run.command.assign(rest.begin() + 1, rest.end());
  check_command(run.command);
  run.why = why_from(options, run.command);
  run.wait = wait_from(options);
  run.store_patience = options.duration("store-patience");
  run.window = options.window();
  run.ping_every = ping_every_from(options, run.window.takeover_after);
  if (const auto status = options.value("conflict-exit-code")) {
    run.conflict_exit_status = exit_status_from(options.source_of("conflict-exit-code"), *status);
  }
  run.grace = options.duration("grace");
  if (const auto what = options.value("on-loss")) {
    run.on_loss = on_loss_from(options.source_of("on-loss"), *what);
  }
  return run;
}

}  // namespace distlock::cli
