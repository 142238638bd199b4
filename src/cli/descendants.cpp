#include "cli/descendants.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <unordered_map>

namespace distlock::cli {
namespace {

using Children = std::unordered_map<pid_t, std::vector<pid_t>>;

std::optional<pid_t> id_from(const std::string& name) {
  pid_t id = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data(), end, id);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return id;
}

// The parent of a process that runs. The program's name stands in parentheses and may contain
// anything.
std::optional<pid_t> parent_from(const std::filesystem::path& stat) {
  std::ifstream file(stat);
  std::string text;
  // Not by an iterator, which throws where the process has ended since the file was opened.
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos || name_end + 4 >= text.size()) return std::nullopt;
  const char state = text[name_end + 2];
  if (state == 'Z' || state == 'X') return std::nullopt;
  pid_t parent = 0;
  std::from_chars(text.data() + name_end + 4, text.data() + text.size(), parent);
  return parent;
}

Children children_by_parent() {
  Children children;
  std::error_code error;
  std::filesystem::directory_iterator process("/proc", error);
  for (; !error && process != std::filesystem::directory_iterator(); process.increment(error)) {
    const auto id = id_from(process->path().filename().string());
    if (!id) continue;
    if (const auto parent = parent_from(process->path() / "stat")) {
      children[*parent].push_back(*id);
    }
  }
  return children;
}

}  // namespace

std::vector<pid_t> descendants_of(pid_t root, pid_t spared) {
  const Children children = children_by_parent();
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto own = children.find(found[i]);
    if (own != children.end()) found.insert(found.end(), own->second.begin(), own->second.end());
  }
  std::erase(found, root);
  std::erase(found, spared);
  return found;
}

}  // namespace distlock::cli
