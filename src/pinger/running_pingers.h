#pragma once

#include <memory>

#include "pinger/session.h"

namespace distlock {

/// Remembers a pinger with threads, so that they are joined when the program ends or the library is
/// unloaded with the pinger still there: a thread must not outlive what it runs on. The store is
/// not asked any more then; holds end by takeover, as after a crash.
void add_running(const std::shared_ptr<Session>& pinger);

}  // namespace distlock
