#pragma once

#include <memory>

#include "distlock/store.h"

namespace distlock::cli {

/// Gives the store to leave(). The MongoDB driver's threads look only twice a second whether they
/// should end: too long at a prompt. An earlier store, which another opening has replaced, ends on
/// a thread of its own. Threads: any.
void keep_until_left(std::shared_ptr<Store> store);

/// A thread of this process goes on, and may use what the end of a program destroys.
void leave_a_thread_behind();

/// Called at the end of the process. If there is a store to part with, or a thread was left behind,
/// ends the store's sessions and the process with `status`. Returns `status` otherwise.
int leave(int status);

}  // namespace distlock::cli
