#pragma once

#include <memory>

#include "distlock/store.h"

namespace distlock::cli {

/// Gives the store to leave(). The MongoDB driver's threads look only twice a second whether they
/// should end: too long at a prompt. An earlier store, which another opening has replaced, ends on
/// a thread of its own.
void keep_until_left(std::shared_ptr<Store> store);

/// Called at the end of the process. If there is a store to part with, ends its sessions and the
/// process with `status`; returns `status` if there is none.
int leave(int status);

}  // namespace distlock::cli
