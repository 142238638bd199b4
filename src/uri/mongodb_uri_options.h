#pragma once

#include <string>
#include <string_view>

namespace distlock {

/// The error of one `name=value` of a MongoDB connection string; empty if nothing is. Never shows a
/// value.
std::string problem_of_mongodb_option(std::string_view option);

/// Whether an option of a MongoDB connection string has this name, be it one that is refused.
bool is_mongodb_option(std::string_view name);

/// `option` with a secret value replaced, or all of it if it is not known.
std::string redacted_mongodb_option(std::string_view option);

/// The options that this library passes on to the driver.
std::string known_mongodb_options();

}  // namespace distlock
