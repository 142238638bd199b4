#pragma once

#include <memory>

#include "distlock/connection_string.h"
#include "distlock/store.h"

namespace distlock {

/// The store that `connection` names, for the process that opened it. A forked child gets `forked`
/// from every call, and its copy is never destroyed: connections, threads and file locks behind it
/// are the parent's (R16).
std::shared_ptr<Store> guarded_against_fork(std::shared_ptr<Store> store,
                                            const ConnectionString& connection);

}  // namespace distlock
