#pragma once

#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "cli/parse.h"

namespace distlock::cli::testing {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

inline Arguments parse(const Words& words, const Variables& variables = {}) {
  return parse_arguments(words, [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

template <class Command>
Command parse_as(const Words& words, const Variables& variables = {}) {
  const Arguments arguments = parse(words, variables);
  if (const auto* error = std::get_if<UsageError>(&arguments)) FAIL(error->problem);
  return std::get<Command>(arguments);
}

inline std::string problem(const Words& words, const Variables& variables = {}) {
  const Arguments arguments = parse(words, variables);
  const auto* error = std::get_if<UsageError>(&arguments);
  return error == nullptr ? "" : error->problem;
}

inline std::string help_of(const std::string& command) {
  return parse_as<Information>({command, "--help"}).text;
}

/// The names that `option` matches in the help of a command.
inline std::set<std::string> names_in_help(const std::string& command, const std::regex& option) {
  const std::string help = help_of(command);
  std::set<std::string> names;
  for (std::sregex_iterator next(help.begin(), help.end(), option), end; next != end; ++next) {
    names.insert((*next)[1]);
  }
  return names;
}

/// The options of a command that take a value, with their `--`.
inline std::set<std::string> valued_options(const std::string& command) {
  return names_in_help(command, std::regex(R"(\n +(?:-., )?(--[a-z-]+) [A-Z]+[ \n])"));
}

/// Those that take none.
inline std::set<std::string> flags_of(const std::string& command) {
  return names_in_help(command, std::regex(R"(\n +(?:-., )?(--[a-z-]+)  )"));
}

}  // namespace distlock::cli::testing
