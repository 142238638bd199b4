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

/// From now on leave() with 128 + `number` ends the process by that signal, if it is TERM, INT, HUP
/// or QUIT. A shell that got it as well goes on with its script otherwise, as the program seems to
/// have handled it.
void end_by(int number);

/// Called at the end of the process. If there is a store to part with, or a thread was left behind,
/// ends the store's sessions and the process with `status`. If end_by() was called for that, ends
/// it by the signal. Returns `status` otherwise, or where nothing ends by the signal: it was
/// ignored at the start, or this is the first process of a container.
int leave(int status);

}  // namespace distlock::cli
