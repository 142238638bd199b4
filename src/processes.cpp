#include "processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
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
constexpr std::int64_t kOfTheKernel = 0x00200000;

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

std::optional<std::string> text_of(pid_t id, const char* name) {
  const std::string path = "/proc/" + std::to_string(id) + '/' + name;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = read(file, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  close(file);
  if (got < 0) return std::nullopt;
  return text;
}

// The program's name stands in parentheses and may contain anything.
std::optional<std::array<std::string_view, kStarted + 1>> fields_of(std::string_view stat) {
  const std::size_t name_end = stat.rfind(") ");
  if (name_end == stat.npos) return std::nullopt;
  stat.remove_prefix(name_end + 2);
  std::array<std::string_view, kStarted + 1> fields;
  for (std::string_view& field : fields) {
    const std::size_t end = stat.find(' ');
    if (end == stat.npos) return std::nullopt;
    field = stat.substr(0, end);
    stat.remove_prefix(end + 1);
  }
  return fields;
}

// Its first thread may have ended before the others.
bool runs(std::string_view state, std::int64_t threads) {
  return (state != "Z" && state != "X") || threads > 1;
}

}  // namespace

std::optional<RunningProcess> running_process(pid_t id) {
  const auto stat = text_of(id, "stat");
  const auto fields = stat ? fields_of(*stat) : std::nullopt;
  if (!fields) return std::nullopt;
  const auto number = [&](std::size_t field) {
    return number_in<std::int64_t>(fields->at(field)).value_or(0);
  };
  if (!runs(fields->at(kState), number(kThreads)) || (number(kFlags) & kOfTheKernel) != 0) {
    return std::nullopt;
  }
  return RunningProcess{.id = id,
                        .parent = static_cast<pid_t>(number(kParent)),
                        .group = static_cast<pid_t>(number(kGroup)),
                        .session = static_cast<pid_t>(number(kSession)),
                        .started = number(kStarted)};
}

std::vector<RunningProcess> running_processes() {
  std::vector<RunningProcess> all;
  std::error_code error;
  std::filesystem::directory_iterator at("/proc", error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const auto id = number_in<pid_t>(at->path().filename().native());
    const auto process = id ? running_process(*id) : std::nullopt;
    if (process) all.push_back(*process);
  }
  return all;
}

std::optional<std::string> environment_of(pid_t id) { return text_of(id, "environ"); }

// Each variable has a zero at its end, and one in front here.
bool has_token(const std::string& environment, const std::string& token) {
  const std::string variable = '\0' + std::string(kTokenVariable) + '=' + token + '\0';
  return ('\0' + environment).find(variable) != std::string::npos;
}

bool some_process_has_token(const std::string& token) {
  const std::vector<RunningProcess> all = running_processes();
  return std::any_of(all.begin(), all.end(), [&](const RunningProcess& process) {
    const auto environment = environment_of(process.id);
    return environment && has_token(*environment, token);
  });
}

}  // namespace distlock
