#pragma once

#include <string>
#include <string_view>

namespace distlock {

/// What is wrong with one `name=value` of a MongoDB connection string; empty if nothing is. Never
/// shows a value.
std::string problem_of_mongodb_option(std::string_view option);

/// `option` with a secret value replaced, or all of it if it is not known.
std::string redacted_mongodb_option(std::string_view option);

/// The options that this library passes on to the driver.
std::string known_mongodb_options();

}  // namespace distlock
