// Documents about the command agree with its help.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "cli/parse.h"
#include "cli/scene.h"

using namespace distlock::cli;
using distlock::cli::testing::Scene;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(DISTLOCK_SOURCES) + "/" + path);
  INFO(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> options_of(const std::string& command) {
  const auto nothing = [](const char*) -> const char* { return nullptr; };
  const std::string help =
      std::get<Information>(parse_arguments({command, "--help"}, nothing)).text;
  const std::regex option(R"(\n +(?:-., )?(--[a-z-]+))");
  std::set<std::string> names;
  for (std::sregex_iterator next(help.begin(), help.end(), option), end; next != end; ++next) {
    names.insert((*next)[1]);
  }
  return names;
}

std::set<std::string> all_options() {
  std::set<std::string> all;
  for (const char* command : {"run", "status", "list", "break", "readmit", "role"}) {
    const auto names = options_of(command);
    REQUIRE(names.contains("--help"));
    all.insert(names.begin(), names.end());
  }
  return all;
}

/// Of which `text` has not the whole.
std::set<std::string> missing(const std::set<std::string>& names, const std::string& text) {
  std::set<std::string> left;
  for (const std::string& name : names) {
    if (!std::regex_search(text, std::regex(name + "(?![a-z-])"))) left.insert(name);
  }
  return left;
}

using Names = std::set<std::string>;

}  // namespace

TEST_CASE("the guide and the manual page have every option", "[cli][arguments]") {
  CHECK(missing(all_options(), read("docs/cli.md")) == Names{});
  const std::string manual = std::regex_replace(read("docs/distlock.1"), std::regex(R"(\\-)"), "-");
  CHECK(missing(all_options(), manual) == Names{});
}

TEST_CASE("the completions have every option", "[cli][arguments]") {
  CHECK(missing(all_options(), read("src/cli/completion.bash")) == Names{});
  CHECK(missing(all_options(), read("src/cli/completion.zsh")) == Names{});
  Names long_names;
  for (const std::string& name : all_options()) long_names.insert("-l " + name.substr(2));
  CHECK(missing(long_names, read("src/cli/completion.fish")) == Names{});
}

TEST_CASE("the README and the guide show the columns that a list has", "[cli][view]") {
  Scene scene;
  scene.hold("jobs", "p");
  scene.ping("p", std::chrono::seconds{4});
  std::ostringstream out;
  print_list(out, scene.all(), {.width = 80});
  const std::string list = out.str();
  const std::string columns = list.substr(0, list.find('\n'));
  const std::string of_locks = std::regex_replace(columns, std::regex(" +"), " +");
  CAPTURE(columns);
  CHECK(std::regex_search(read("README.md"), std::regex("\n    " + of_locks + "\n")));
  CHECK(std::regex_search(read("docs/cli.md"), std::regex("\n    " + of_locks + "\n")));
}
