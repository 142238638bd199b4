#pragma once

#include <string>

#include "distlock/record.h"

namespace distlock::cli {

/// ISO 8601 in UTC with milliseconds: `2024-02-29T12:00:00.000Z`. Any stored date has a text; years
/// outside 0..9999 get the sign that the standard's expanded form asks for.
std::string iso8601(StoreTime time);

}  // namespace distlock::cli
