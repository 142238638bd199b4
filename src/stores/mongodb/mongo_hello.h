#pragma once

#include <bson/bson.h>

#include <string>
#include <string_view>

namespace distlock {

/// The name of the clock of a server with this answer to `hello`.
std::string clock_of(const bson_t* hello, std::string_view address);

/// The name of its replica set, or nothing.
std::string set_of(const bson_t* hello);

/// Whether it is of MongoDB 4.2 or newer. Older ones cannot put their own time into a document.
bool updates_by_pipeline(const bson_t* hello);

}  // namespace distlock
