#pragma once

#include <memory>

#include "distlock/connection_string.h"
#include "distlock/options.h"
#include "distlock/store.h"

namespace distlock {

/// Opens the store in the SQLite file that `connection` names, making what is missing.
/// Errors: those of open_store().
std::shared_ptr<Store> open_sqlite_store(const ConnectionString& connection,
                                         const StoreOptions& options);

}  // namespace distlock
