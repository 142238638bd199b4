#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "distlock/clock.h"
#include "distlock/store.h"

namespace distlock::cli {

using Open = std::function<std::shared_ptr<Store>()>;

/// Until when an opening is waited for.
struct OpeningEnd {
  SteadyTime time = SteadyTime::max();
  std::stop_token stop;
};

/// Calls `open` on a thread of its own, or on this one where none is to be had. Null if it has not
/// ended by then, or a stop was requested. A thread that goes on is left behind, and leave() ends
/// the process with it. So `open` owns all that it uses. Errors: those of `open`.
std::shared_ptr<Store> open_apart(const Open& open, Clock& clock, const OpeningEnd& end);

}  // namespace distlock::cli
