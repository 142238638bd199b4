#pragma once

#include <bson/bson.h>

#include <string_view>

namespace distlock {

/// Why the fields of an answer, if it is one to `hello`, may end the process within libmongoc; or
/// nothing. It takes the elements of some lists for texts, and the members of a replica set for
/// addresses, and asks each of them.
std::string_view why_hello_is_unsound(const bson_iter_t& fields);

}  // namespace distlock
