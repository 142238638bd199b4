#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "cli/parse.h"

// Any words are a command or a usage error. Lines up to an empty one are words, those after it
// are values of the environment: "WAIT=5s".

using namespace distlock::cli;

namespace {

struct Input {
  std::vector<std::string> words;
  std::vector<std::string> environment;
};

Input input_of(std::string_view text) {
  Input input;
  std::vector<std::string>* lines = &input.words;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string line(text.substr(0, end));
    // No word of a command line has a NUL in it.
    if (line.find('\0') != std::string::npos) line.erase(line.find('\0'));
    if (line.empty()) lines = &input.environment;
    if (!line.empty()) lines->push_back(line);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return input;
}

struct Check {
  void operator()(const RunArguments& run) const {
    if (run.command.empty() || run.lock.empty()) std::abort();
    if (run.wait && run.wait->count() < 0) std::abort();
    if (run.window.takeover_after.count() <= 0 || run.ping_every.count() <= 0) std::abort();
  }
  void operator()(const UsageError& error) const {
    if (error.problem.empty()) std::abort();
  }
  template <class Other>
  void operator()(const Other&) const {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input = input_of({reinterpret_cast<const char*>(data), size});
  const auto get = [&](const char* name) -> const char* {
    const std::string start = std::string(name) + '=';
    for (const std::string& line : input.environment) {
      if (("DISTLOCK_" + line).starts_with(start)) return line.data() + start.size() - 9;
    }
    return nullptr;
  };
  std::visit(Check{}, parse_arguments(input.words, get));
  return 0;
}
