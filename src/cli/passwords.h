#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace distlock::cli {

/// Where the first connection string of a server in `text` begins, in capitals too; npos if there
/// is none.
std::size_t server_uri_in(std::string_view text);

/// Whether a text has the connection string of a server in it. At the beginning any such string
/// counts, elsewhere one with a user or an option.
bool may_show_a_password(std::string_view text);

/// Whether a text has an address of any kind with a password in it, as https://ann:secret@host has.
bool has_address_with_a_password(std::string_view text);

}  // namespace distlock::cli
