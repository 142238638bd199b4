#pragma once

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <cstddef>
#include <set>

#include "distlock/record.h"

namespace distlock::mirrored {

/// Claims that were refused, and that a member which gave no answer may have granted (M2). The
/// sender of one asks for it right after its refusal.
///
/// Threads: all functions may be called concurrently.
class LeftClaims {
 public:
  void note(const Token& ts) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    // Only a caller that does not ask leaves so many. Then the search for stray holds finds them.
    if (left_.size() >= kMost) left_.clear();
    left_.insert(ts);
  }
  /// Whether it is one of them; forgets it.
  bool take(const Token& ts) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    return left_.erase(ts) > 0;
  }

 private:
  static constexpr std::size_t kMost = 1000;

  boost::mutex mutex_;
  std::set<Token> left_;  // Guarded by `mutex_`.
};

}  // namespace distlock::mirrored
