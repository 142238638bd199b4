#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace distlock {

/// Whether `text` is well-formed UTF-8: no overlong form, no surrogate, nothing past U+10FFFF.
bool is_utf8(std::string_view text);

/// The characters of `text` in order. A byte that is not UTF-8 stands by itself.
std::vector<std::string_view> characters_of(std::string_view text);

/// `text`, fit to be shown on a terminal or in a log. Bytes that are not UTF-8, control characters
/// and invisible ones become `\xNN`, a backslash `\\`. Terminals also obey DEL and U+0080 to
/// U+009F. Among the invisible ones are those that turn the direction of writing.
std::string escaped(std::string_view text);

/// With the letters of ASCII in lower case.
std::string in_lower_case(std::string_view text);

/// `escaped(text)` in double quotes.
std::string in_quotes(std::string_view text);

}  // namespace distlock
