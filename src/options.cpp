#include "distlock/options.h"

#include <algorithm>

#include "distlock/error.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;

// Of eight parts a holder's deadline keeps clear of two, or a little more (R9); a ping that is due
// and two calls that hang take three.
milliseconds part_of(milliseconds takeover_after, milliseconds most) {
  return std::clamp(takeover_after / 8, milliseconds{1}, most);
}

}  // namespace

LockOptions LockOptions::taking_over_after_minutes(int minutes) {
  if (minutes < 1) {
    throw Error(Errc::invalid_argument,
                "takeover_minutes is " + std::to_string(minutes) + ": it must be at least 1");
  }
  LockOptions options;
  options.takeover_after = std::chrono::minutes{minutes} + std::chrono::minutes{1};
  return options;
}

PingerOptions PingerOptions::fitting(milliseconds takeover_after) {
  return {.ping_every = part_of(takeover_after, PingerOptions{}.ping_every)};
}

StoreOptions StoreOptions::fitting(milliseconds takeover_after) {
  return {.call_limit = part_of(takeover_after, StoreOptions{}.call_limit)};
}

}  // namespace distlock
