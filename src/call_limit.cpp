#include "call_limit.h"

#include <string>

#include "distlock/error.h"

namespace distlock {

void check_call_limit(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kMost = std::chrono::days{1};
  if (limit > std::chrono::milliseconds{0} && limit <= kMost) return;
  throw Error(Errc::invalid_argument, "the store's call_limit is " + std::to_string(limit.count()) +
                                          " ms: it must be more than 0 and at most " +
                                          std::to_string(kMost.count()) + " ms, a day");
}

}  // namespace distlock
