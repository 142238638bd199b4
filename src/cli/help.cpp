#include "cli/help.h"

#include <sstream>

namespace distlock::cli {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kIndent = 28;

// `text` in lines that end before kWidth, each after `indent` columns; the first begins at
// `column`.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t column) {
  std::string result;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool fits = column + 1 + word.size() < kWidth;
    if (column > indent && !fits) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result + '\n';
}

std::string option_text(const OptionHelp& option) {
  const bool has_short_name = option.names.find(',') != std::string::npos;
  std::string line = std::string(has_short_name ? 2 : 6, ' ') + option.names;
  if (!option.value.empty()) line += ' ' + option.value;
  line += line.size() + 2 > kIndent ? "\n" + std::string(kIndent, ' ')
                                    : std::string(kIndent - line.size(), ' ');
  return line + wrapped(option.purpose, kIndent, kIndent);
}

}  // namespace

std::string help_text(const std::string& usage, const std::string& purpose,
                      const std::vector<OptionHelp>& options) {
  std::string text = "Usage: distlock " + usage + "\n\n" + wrapped(purpose, 0, 0) + "\nOptions:\n";
  for (const OptionHelp& option : options) text += option_text(option);
  return text;
}

}  // namespace distlock::cli
