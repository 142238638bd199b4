#include "uri/mirrored_options.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "uri/uri_pieces.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMost = std::chrono::hours{24 * 365};

// Nothing if it is out of range, or no number at all.
std::optional<milliseconds> time_in(std::string_view option) {
  const std::string_view value = option.substr(std::min(option.find('='), option.size() - 1) + 1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc{} && end == value.data() + value.size();
  if (!whole || number < 1 || number > kMost.count()) return std::nullopt;
  return milliseconds{number};
}

bool is_uri(std::string_view text) { return text.starts_with("mongodb://"); }

std::string_view options_in(std::string_view text) {
  if (is_uri(text)) return pieces_of(text).options;
  const std::size_t question = text.find('?');
  return question == std::string_view::npos ? std::string_view{} : text.substr(question + 1);
}

std::string problem_with(const std::string& what) {
  return "option " + std::string(kLongestTakeover) + ' ' + what;
}

}  // namespace

MirroredOptions options_of_mirrored(std::string_view text) {
  const std::string_view options = options_in(text);
  MirroredOptions found{.rest = std::string(text)};
  std::string others;
  for (const std::string_view option : split(options, '&')) {
    if (!is_option(option, kLongestTakeover)) {
      others += '&' + std::string(option);
      continue;
    }
    if (found.longest_takeover) found.problem = problem_with("is given twice: write it once");
    found.longest_takeover = time_in(option);
    if (!found.longest_takeover) {
      found.problem = problem_with(
          "must be a whole number of milliseconds, from 1 to " + std::to_string(kMost.count()) +
          " (365 days); an hour, the default, is " + std::string(kLongestTakeover) + "=3600000");
    }
    if (!found.problem.empty()) return found;
  }
  if (!found.longest_takeover) return found;
  found.rest.resize(text.size() - options.size());
  // A URI keeps its question mark, which needs a slash before it.
  if (others.empty() && !is_uri(text)) found.rest.pop_back();
  found.rest += others.substr(others.empty() ? 0 : 1);
  return found;
}

}  // namespace distlock
