#pragma once

#include <string>

namespace distlock::cli {

/// Whether `name` matches `pattern` as a shell would match it: by characters. By bytes if one of
/// them is not UTF-8, or they have more than 128 different characters beyond ASCII.
bool matches(const std::string& pattern, const std::string& name);

}  // namespace distlock::cli
