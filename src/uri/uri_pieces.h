#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distlock {

/// The pieces of scheme://userinfo@hosts/database?options, as far as they can be told apart; views
/// of the text.
struct UriPieces {
  std::string_view scheme;  ///< With `://`.
  std::string_view userinfo;
  bool has_userinfo = false;
  std::string_view hosts;
  bool has_slash = false;
  std::string_view database;
  bool has_options = false;
  std::string_view options;
};
UriPieces pieces_of(std::string_view text);

/// Whether it is a number from 1 to 65535.
bool is_port(std::string_view text);

/// Whether `name=value` is that option. The case of a name does not matter.
bool is_option(std::string_view option, std::string_view name);

/// A text whose every `%` stands before two hexadecimal digits, without the encoding.
std::string decoded(std::string_view text);

std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace distlock
