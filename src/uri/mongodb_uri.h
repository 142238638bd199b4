#pragma once

#include <string>
#include <string_view>

// The wing src/uri/: connection strings, read and judged before anything is opened. Text only: it
// knows no store, and shows no piece of a string that may be a secret.
namespace distlock {

/// The error of `uri`, which begins with `mongodb://` or `mongodb+srv://`, and what to write
/// instead; empty if nothing is. Never shows a piece of it that may be a secret.
std::string problem_of_mongodb_uri(std::string_view uri);

}  // namespace distlock
