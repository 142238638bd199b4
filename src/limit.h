#pragma once

#include <stop_token>

#include "distlock/clock.h"
#include "fork_guard.h"

namespace distlock {

/// How long something may go on that is made of several calls of a store: none begins at the
/// deadline or later, or after a stop. By default there is no end.
struct Limit {
  SteadyTime deadline = SteadyTime::max();
  std::stop_token stop;

  bool over(const Clock& clock) const {
    return stop.stop_requested() || clock.steady_now() >= deadline;
  }
};

/// Stopped when one of two is.
class EitherStop {
 public:
  EitherStop(const std::stop_token& one, const std::stop_token& other)
      : one_(one, Request{source_}), other_(other, Request{source_}) {}

  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Request {
    std::stop_source source;
    void operator()() noexcept { source.request_stop(); }
  };

  std::stop_source source_;
  // Another thread may be at the state of these tokens when the process forks.
  LeftInChild<std::stop_callback<Request>> one_;
  LeftInChild<std::stop_callback<Request>> other_;
};

}  // namespace distlock
