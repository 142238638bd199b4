#pragma once

#include <string>
#include <vector>

#include "distlock/store.h"
#include "stores/mongodb/mongo_call.h"

// Reads of many documents, for people and for looks at who waits for whom. Each command's cost in
// the server grows with the collection; its answer grows with what it asks for.
namespace distlock {

/// As Store::list().
Listing list_all(const MongoCall& call);

/// As Line::list_waits().
Listing list_waits(const MongoCall& call, const std::vector<std::string>& names);

}  // namespace distlock
