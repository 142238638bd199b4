#pragma once

#include <memory>
#include <string>

#include "distlock/store.h"

namespace distlock {

/// The store, for the process that opened it. A forked child gets `forked`
/// from every call, and its copy is never destroyed: connections, threads and file locks behind it
/// are the parent's (R16).
std::shared_ptr<Store> guarded_against_fork(std::shared_ptr<Store> store, std::string description);

}  // namespace distlock
