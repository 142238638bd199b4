#pragma once

#include <boost/thread/mutex.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/store.h"
#include "protocol/deadlock.h"

namespace distlock {

/// Those who wait, their holds and pings, at one look, with what this process knows better.
struct Overview {
  SteadyTime begun;
  SteadyTime had;
  std::optional<StoreNow> now;  ///< None where the store failed: nothing is known then.
  std::vector<LockRecord> locks;
  std::vector<PingRecord> pings;
  std::vector<deadlock::Cycle> cycles;
  std::vector<deadlock::Cycle> possible;  ///< Through commands: those of possible_cycles().
};

/// The looks of one process at all who wait, for waits that may never end (R22). The store has a
/// line. One look is for all threads that wait (R20). The log tells once that looks fail.
///
/// Threads: any. The mutex is not held across a call of the store, the clock, or a callback.
class Overviews {
 public:
  /// Tells of a hold or a place whether no thread of this process has it. Made after a look: that
  /// may be an old one, as by a majority whose members are behind.
  using GivenUp = std::function<bool(const Token& ts)>;
  using MakeGivenUp = std::function<GivenUp()>;

  /// The thread of this process that holds by `ts`, as `process:thread`, if one does. A hold that
  /// was passed on is of another than the one that claimed it (R21).
  using HolderOf = std::function<std::optional<std::string>(const Token& ts)>;

  /// The threads of this process that have no place in the store.
  using ThoseBehind = std::function<std::vector<deadlock::Hidden>()>;

  Overviews(std::shared_ptr<Store> store, std::string process, MakeGivenUp given_up,
            HolderOf holder_of, ThoseBehind those_behind);

  /// The newest look of the process, if it was begun at `since` or later and somebody still has it.
  /// Otherwise looks. Null while another thread looks.
  std::shared_ptr<const Overview> get(SteadyTime since, Clock& clock);

 private:
  struct Looking;
  std::shared_ptr<const Overview> look(Clock& clock);
  void leave_out_given_up(std::vector<LockRecord>& locks) const;
  void put_holders_in(std::vector<LockRecord>& locks) const;

  const std::shared_ptr<Store> store_;
  const std::string process_;
  const MakeGivenUp given_up_;
  const HolderOf holder_of_;
  const ThoseBehind those_behind_;
  boost::mutex mutex_;
  // Guarded by `mutex_`.
  std::weak_ptr<const Overview> newest_;
  bool looking_ = false;
  int failures_ = 0;  // One after the other. By the thread that looks.
};

}  // namespace distlock
