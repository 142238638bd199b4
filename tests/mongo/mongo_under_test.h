#pragma once

#include <memory>
#include <string>

#include "support/store_under_test.h"

namespace distlock::testing {

/// A database of its own on the server that `uri` names.
std::unique_ptr<StoreUnderTest> make_mongo_under_test(const std::string& uri);

}  // namespace distlock::testing
