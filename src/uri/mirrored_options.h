#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace distlock {

inline constexpr std::string_view kLongestTakeover = "longestTakeoverMS";

/// The options of a mirrored string that are of the whole store, and the string without them.
/// `problem` says what is wrong with one of them, and never shows a value.
struct MirroredOptions {
  std::string rest;
  std::optional<std::chrono::milliseconds> longest_takeover = {};
  std::string problem = {};
};

/// Of `mongodb://…` or `sqlite:…`: the text behind `mirrored+`.
MirroredOptions options_of_mirrored(std::string_view text);

}  // namespace distlock
