#pragma once

#include <map>
#include <vector>

#include "distlock/clock.h"
#include "distlock/pinger.h"

namespace distlock {

/// Whose a hold is that a member of a mirrored store says to be of this process. A release would
/// free it on all members.
enum class Whose {
  /// No member names another, and all have answered, or a majority names us. So it is on any other
  /// store.
  ours,
  perhaps_anothers,  ///< A majority may name another, if those that said nothing do.
  /// No process can have a majority. It is left over, or somebody has edited it on members. Where
  /// some are silent, they may name one that counts on those that name us.
  nobodys,
};
Whose whose(const Environment& environment, const std::vector<Inspection>& seen, const Token& ts);

/// Holds that are nobody's. Each may have been somebody's until it was edited, who does not know
/// that yet, and counts on it for its window at most.
class HoldsOfNobody {
 public:
  /// Whether that hold has been nobody's for its whole window, in all looks since the first.
  bool is_over(const std::vector<Inspection>& seen, const Token& ts, SteadyTime now);
  /// It is somebody's, or gone.
  void forget(const Token& ts) { since_.erase(ts); }
  /// All but these are gone.
  void keep(const std::vector<StoredHold>& listed);

 private:
  std::map<Token, SteadyTime> since_;
};

}  // namespace distlock
