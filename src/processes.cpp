#include "processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace distlock {
namespace {

// The fields of /proc/PID/stat behind the program's name, from the state on.
constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kSession = 3;
constexpr std::size_t kFlags = 6;
constexpr std::size_t kThreads = 17;
constexpr std::size_t kStarted = 19;
constexpr std::size_t kSize = 20;
constexpr std::int64_t kExiting = 0x00000004;
constexpr std::int64_t kOfTheKernel = 0x00200000;

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

struct FileText {
  std::string text;
  int error = 0;  // errno
};

struct Closed {
  const int file;
  ~Closed() { close(file); }
};

FileText text_of(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {{}, errno};
  const Closed at_the_end{file};
  FileText content;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = read(file, part.data(), part.size())) > 0) {
    content.text.append(part.data(), static_cast<std::size_t>(got));
  }
  if (got < 0) content.error = errno;
  return content;
}

std::string path_of(const std::string& proc, pid_t id, const char* name) {
  return proc + '/' + std::to_string(id) + '/' + name;
}

// The program's name stands in parentheses and may contain anything.
std::optional<std::array<std::string_view, kSize + 1>> fields_of(std::string_view stat) {
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == stat.npos) return std::nullopt;
  stat.remove_prefix(name_end + 2);
  std::array<std::string_view, kSize + 1> fields;
  for (std::string_view& field : fields) {
    const std::size_t end = stat.find(' ');
    if (end == stat.npos) return std::nullopt;
    field = stat.substr(0, end);
    stat.remove_prefix(end + 1);
  }
  return fields;
}

enum class State { runs, of_no_interest, unclear };

struct Look {
  State state = State::unclear;
  RunningProcess process;
};

Look look_at(pid_t id, const std::string& proc) {
  const FileText stat = text_of(path_of(proc, id, "stat"));
  if (stat.error == ENOENT || stat.error == ESRCH) return {State::of_no_interest, {}};
  const auto fields = stat.error == 0 ? fields_of(stat.text) : std::nullopt;
  if (!fields) return {};
  const auto number = [&](std::size_t field) { return number_in<std::int64_t>(fields->at(field)); };
  for (const std::size_t field : {kParent, kGroup, kSession, kFlags, kThreads, kStarted, kSize}) {
    if (!number(field)) return {};
  }
  const std::string_view state = fields->at(kState);
  // Its first thread may have ended before the others.
  const bool ended = (state == "Z" || state == "X") && *number(kThreads) <= 1;
  if (ended || (*number(kFlags) & kOfTheKernel) != 0) return {State::of_no_interest, {}};
  // None for a first thread that another is about to replace by executing a program.
  const bool alone = *number(kThreads) == 1;
  return {State::runs,
          {.id = id,
           .parent = static_cast<pid_t>(*number(kParent)),
           .group = static_cast<pid_t>(*number(kGroup)),
           .session = static_cast<pid_t>(*number(kSession)),
           .started = *number(kStarted),
           .ending = alone && (*number(kFlags) & kExiting) != 0 && *number(kSize) == 0}};
}

// Whether all processes of this process's namespace are in that folder. Of several mounts in one
// place the last counts; one that hides some is enough here.
bool shows_all(const std::string& proc) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink(proc + "/self", error);
  if (error || self != std::to_string(getpid())) return false;
  const FileText mounts = text_of(proc + "/self/mountinfo");
  return mounts.error == 0 && !mounts.text.empty() &&
         mounts.text.find("hidepid=") == mounts.text.npos;
}

// A program may have written over its variables, mostly a title.
bool is_environment(const std::string& text) {
  const std::size_t equals = text.find('=');
  return !text.empty() && text.back() == '\0' && equals != 0 && equals < text.find('\0');
}

// With commas between them.
bool lists(std::string_view tokens, std::string_view token) {
  while (tokens.substr(0, tokens.find(',')) != token) {
    const std::size_t comma = tokens.find(',');
    if (comma == tokens.npos) return false;
    tokens.remove_prefix(comma + 1);
  }
  return true;
}

std::chrono::milliseconds time_of(std::int64_t ticks) {
  const std::int64_t second = std::max(sysconf(_SC_CLK_TCK), 1L);
  return std::chrono::seconds{ticks / second} +
         std::chrono::milliseconds{ticks % second * 1000 / second};
}

// More than a tick, by which starts are told.
constexpr std::chrono::milliseconds kAllowance{1000};

bool may_have(const RunningProcess& process, const std::string& token,
              std::chrono::milliseconds given, const std::string& proc) {
  if (const auto environment = environment_of(process.id, proc)) {
    return has_token(*environment, token);
  }
  if (time_of(process.started) + kAllowance < given) return false;
  const Look again = look_at(process.id, proc);
  return again.state != State::of_no_interest && !again.process.ending;
}

}  // namespace

std::optional<RunningProcess> running_process(pid_t id, const std::string& proc) {
  const Look look = look_at(id, proc);
  return look.state == State::runs ? std::optional(look.process) : std::nullopt;
}

SeenProcesses running_processes(const std::string& proc) {
  SeenProcesses seen{.running = {}, .all = shows_all(proc)};
  std::error_code error;
  std::filesystem::directory_iterator at(proc, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const auto id = number_in<pid_t>(at->path().filename().native());
    if (!id) continue;
    const Look look = look_at(*id, proc);
    if (look.state == State::runs) seen.running.push_back(look.process);
    seen.all = seen.all && look.state != State::unclear;
  }
  seen.all = seen.all && !error;
  return seen;
}

std::optional<std::string> environment_of(pid_t id, const std::string& proc) {
  FileText environment = text_of(path_of(proc, id, "environ"));
  if (environment.error != 0 || !is_environment(environment.text)) return std::nullopt;
  return std::move(environment.text);
}

std::string outer_tokens() {
  constexpr std::size_t kMost = 2000;
  std::string tokens;
  for (const std::string_view variable : {kTokenVariable, kOuterTokensVariable}) {
    const char* const value = std::getenv(std::string(variable).c_str());
    if (value == nullptr || *value == '\0') continue;
    tokens.append(tokens.empty() ? "" : ",").append(value);
  }
  return tokens.substr(0, kMost);
}

// Each variable has a zero at its end.
bool has_token(const std::string& environment, const std::string& token) {
  const auto own = std::string(kTokenVariable) + '=' + token;
  const auto outer = std::string(kOuterTokensVariable) + '=';
  for (std::size_t at = 0, end = 0; at < environment.size(); at = end + 1) {
    end = std::min(environment.find('\0', at), environment.size());
    const std::string_view variable = std::string_view(environment).substr(at, end - at);
    if (variable == own) return true;
    if (variable.starts_with(outer) && lists(variable.substr(outer.size()), token)) return true;
  }
  return false;
}

// Two looks must find nothing, since a process may be forked during one.
bool may_be_had(const std::string& token, std::chrono::milliseconds given,
                const std::string& proc) {
  for (int look = 0; look < 2; ++look) {
    const SeenProcesses seen = running_processes(proc);
    if (!seen.all) return true;
    for (const RunningProcess& process : seen.running) {
      if (may_have(process, token, given, proc)) return true;
    }
  }
  return false;
}

std::string pid_namespace() {
  std::error_code error;
  const auto name = std::filesystem::read_symlink("/proc/self/ns/pid", error);
  return error ? std::string() : name.string();
}

}  // namespace distlock
