#pragma once

#include <string>

#include "distlock/record.h"

namespace distlock::cli {

/// ISO 8601 in UTC with milliseconds: `2024-02-29T12:00:00.000Z`. Every stored date has a text:
/// years outside 0..9999 get a sign, as the standard's expanded form wants it.
std::string iso8601(StoreTime time);

}  // namespace distlock::cli
