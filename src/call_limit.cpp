#include "call_limit.h"

#include <string>

#include "distlock/error.h"
#include "in_milliseconds.h"

namespace distlock {

void check_call_limit(std::chrono::milliseconds limit) {
  constexpr std::chrono::milliseconds kMost = std::chrono::days{1};
  if (limit > std::chrono::milliseconds{0} && limit <= kMost) return;
  throw Error(Errc::invalid_argument, "the store's call_limit is " + in_milliseconds(limit) +
                                          ": it must be more than 0 and at most " +
                                          in_milliseconds(kMost) + ", a day");
}

}  // namespace distlock
