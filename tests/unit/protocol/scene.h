#pragma once

#include "protocol/protocol.h"

/// A lock and its holder as a contender sees them, for the tests of judgements.
namespace distlock::protocol {

using std::chrono::milliseconds;

inline constexpr StoreTime kNow{std::chrono::hours{480000}};
inline constexpr auto kWindow = std::chrono::minutes{16};
inline const Token kTs{{1}};

inline LockRecord taken_lock() {
  return {.name = "balancer",
          .state = LockState::taken,
          .process = "db7",
          .when = kNow - std::chrono::hours{1},
          .ts = kTs};
}

/// A contender's look: an instant call at the store's `now`, on a wall clock that agrees.
struct Scene {
  Inspection seen{taken_lock(), PingRecord{"db7", kNow, "c1"}, StoreNow{kNow, "c1"}, true};
  LocalSpan span{{SteadyTime{std::chrono::hours{1}}, SteadyTime{std::chrono::hours{1}}},
                 WallTime{kNow.time_since_epoch()},
                 WallTime{kNow.time_since_epoch()}};
  LockOptions options;
  bool stepped = false;
  HolderWatch watch;

  Scene& silent_for(milliseconds age) {
    seen.ping->ping = kNow - age;
    return *this;
  }
  void pass(std::chrono::nanoseconds time) {
    const auto ms = std::chrono::duration_cast<milliseconds>(time);
    span.sent += time;
    span.received += time;
    span.wall_sent += ms;
    span.wall_received += ms;
    seen.now->time += ms;
  }
  Judgement judged() { return judge(seen, span, stepped, options, watch); }
};

}  // namespace distlock::protocol
