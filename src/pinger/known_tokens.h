#pragma once

#include <algorithm>
#include <vector>

#include "distlock/record.h"
#include "pinger/holds.h"
#include "pinger/pending_releases.h"

namespace distlock {

/// Tells a stray hold of this process (R8) from one that some part of it answers for: a lock
/// object, when this was made, or a pending release by now. They are asked in this order, since a
/// claim of unknown outcome is pending before its object forgets it.
class KnownTokens {
 public:
  KnownTokens(const Holds& holds, const PendingReleases& pending)
      : of_objects_(holds.known()), pending_(pending) {}

  bool contains(const Token& ts) const { return is_of_an_object(ts) || pending_.frees(ts); }
  /// Whether an object has that hold or place, and has not given it up.
  bool is_kept(const Token& ts) const { return is_of_an_object(ts) && !pending_.contains(ts); }

 private:
  bool is_of_an_object(const Token& ts) const {
    return std::binary_search(of_objects_.begin(), of_objects_.end(), ts);
  }

  const std::vector<Token> of_objects_;
  const PendingReleases& pending_;
};

}  // namespace distlock
