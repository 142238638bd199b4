#pragma once

#include <memory>

#include "distlock/connection_string.h"
#include "distlock/options.h"
#include "distlock/store.h"

namespace distlock {

/// Opens the MongoDB that a `mongodb:` string names.
/// Errors: as open_store().
std::shared_ptr<Store> open_mongo_store(const ConnectionString& connection,
                                        const StoreOptions& options);

}  // namespace distlock
