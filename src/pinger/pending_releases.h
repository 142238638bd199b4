#pragma once

#include <boost/thread/mutex.hpp>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/store.h"

namespace distlock {

/// A release that nobody waits for any more: an unlock that the store did not answer, or a claim
/// whose outcome stayed unknown (R8, R11).
struct PendingRelease {
  std::string name;
  Token ts;
  /// From when on "not ours" is an end of it. Until then a delayed claim may still arrive.
  SteadyTime settled_after = SteadyTime::min();
  bool refusal_logged = false;
};

/// What the pinger works off until the store confirms.
class PendingReleases {
 public:
  void add(PendingRelease release);
  std::size_t count() const;

  bool contains(const Token& ts) const;

  /// Tries each once, until `give_up_at` or the first that the store does not answer, and keeps
  /// what is not settled, to be tried last next time. What the store refuses holds up no other.
  void work_off(Store& store, const Clock& clock, SteadyTime give_up_at);

 private:
  enum class Outcome { settled, kept, no_answer };
  static Outcome try_one(const PendingRelease& release, Store& store, const Clock& clock);
  void settle(const PendingRelease& release);
  void put_last(const PendingRelease& release);

  mutable boost::mutex mutex_;
  std::vector<PendingRelease> releases_;
};

}  // namespace distlock
