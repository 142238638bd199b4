#pragma once

#include <memory>

#include "distlock/connection_string.h"
#include "distlock/options.h"
#include "distlock/store.h"

namespace distlock {

/// Opens the mirrored store that a `mirrored+` string names. A minority of its members may be away,
/// or unfit for use, if the others are a set: they are opened when they are there. Each call ends
/// within `options.call_limit`.
///
/// Errors: as open_store(), for a majority of the members, or for any of them where there is no set
/// yet; `not_applied` if fewer than a majority can be reached; `invalid_argument` also for a member
/// that is given twice. To look at it, only the latter.
std::shared_ptr<Store> open_mirrored_store(const ConnectionString& connection,
                                           const StoreOptions& options);

}  // namespace distlock
