#pragma once

#include <chrono>
#include <memory>

#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/export.h"
#include "distlock/options.h"
#include "distlock/store.h"

namespace distlock {

/// Opens the store that the connection string names, making a SQLite file that is missing, but no
/// folder. All handles on `memory:` that live at one time in a process are on one store.
///
/// Errors:
///   `not_applied`        the store cannot be reached
///   `permission_denied`  the user may not use it
///   `bad_record`         the SQLite file is no database of ours, or its schema is newer
///   `invalid_argument`   options out of range, a folder that is not there, or a server that cannot
///                        serve: a secondary, an arbiter, a mongos, MongoDB before 4.2
DISTLOCK_EXPORT std::shared_ptr<Store> open_store(const ConnectionString& connection,
                                                  const StoreOptions& options = {});

/// A store inside this process, timed by `clock`. For tests, simulation and examples.
DISTLOCK_EXPORT std::shared_ptr<Store> make_memory_store(
    std::shared_ptr<Clock> clock = host_clock(), const StoreOptions& options = {});

}  // namespace distlock
