#pragma once

#include <string>
#include <string_view>

namespace distlock {

/// `uri` without its password and the values of options that may be secrets.
std::string redacted_uri(std::string_view uri);

/// `text`, which is no well-formed URI, without anything that could have been meant as a password:
/// where one begins or ends is not sure, so this hides more than a secret rather than less.
std::string redacted_malformed_uri(std::string_view text);

}  // namespace distlock
