#pragma once

#include <string>
#include <string_view>

// The wing src/uri/: connection strings, read and judged before anything is opened. Text only: it
// knows no store, and shows no piece of a string that may be a secret.
namespace distlock {

/// Whether it begins with `mongodb://` or `mongodb+srv://`.
inline bool is_mongodb(std::string_view text) {
  return text.starts_with("mongodb://") || text.starts_with("mongodb+srv://");
}

/// The error of `uri`, for which is_mongodb() is true, and what to write instead; empty if nothing
/// is. Never shows a piece of it that may be a secret.
std::string problem_of_mongodb_uri(std::string_view uri);

}  // namespace distlock
