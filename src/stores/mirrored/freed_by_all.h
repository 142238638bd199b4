#pragma once

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "distlock/record.h"

namespace distlock::mirrored {

/// The last holds that all members have said are free. A claim may start from one without a look:
/// on each member the hold was there and is free, so that a claim refused there stays refused (M2).
///
/// Threads: all functions may be called concurrently.
class FreedByAll {
 public:
  void add(std::string_view name, const Token& ts) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    // A claim that finds nothing here looks at the members first.
    if (by_name_.size() >= kMost) by_name_.clear();
    by_name_.insert_or_assign(std::string(name), ts);
  }
  /// Whether it is there; forgets it.
  bool take(std::string_view name, const Token& ts) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    const auto found = by_name_.find(name);
    if (found == by_name_.end() || found->second != ts) return false;
    by_name_.erase(found);
    return true;
  }

 private:
  static constexpr std::size_t kMost = 1000;

  boost::mutex mutex_;
  std::map<std::string, Token, std::less<>> by_name_;  // Guarded by `mutex_`.
};

}  // namespace distlock::mirrored
