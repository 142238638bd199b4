#pragma once

#include <random>

#include "stores/mongodb/mongo_bson.h"

namespace distlock::testing {

/// `sound` with one of its parts, at any depth, replaced by a value of another kind, left out, or
/// there twice.
Bson spoilt(const Bson& sound, std::mt19937_64& random);

}  // namespace distlock::testing
