#pragma once

#include <string>
#include <string_view>

namespace distlock {

/// The error of `uri`, which begins with `mongodb://` or `mongodb+srv://`, and what to write
/// instead; empty if nothing is. Never shows a piece of it that may be a secret.
std::string problem_of_mongodb_uri(std::string_view uri);

}  // namespace distlock
