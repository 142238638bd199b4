#pragma once

#include <boost/thread/mutex.hpp>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/line.h"
#include "distlock/pinger.h"
#include "limit.h"
#include "pinger/lobby.h"

namespace distlock {

/// Whether a release rings itself for those whose turn it is, or leaves other processes to a round
/// of the Ringer. That is due at once. The pinger's thread has no time for a second call.
enum class RingBy { the_caller, a_round };

/// Releases, and rings for the waiters whose turn it is (R19): at once for the first in line, and
/// then once a turn for the next ones, as long as nobody has claimed the lock. So a release wakes
/// one waiter however many there are, and nobody who is there is passed over because he was not
/// told.
///
/// Threads: all functions may be called concurrently.
class Ringer {
 public:
  Ringer(const Environment& environment, Lobby& lobby) : environment_(environment), lobby_(lobby) {}

  /// Where `ring_until` is over after the release, a round rings in any case. Where no round comes
  /// any more, nobody is rung then. Errors: those of Store::release().
  Freed release(const std::string& name, const Token& ts, ReleaseRule rule,
                const Limit& ring_until = {}, RingBy ring_by = RingBy::the_caller);

  struct Due {
    SteadyTime next;
    std::stop_token changed;  ///< Stopped if a round is due sooner.
  };
  /// Rings for those whose turn has come since the last one. The limit leaves the rest due at once.
  Due round(const Limit& limit = {}) noexcept;
  /// Stops the token of the last round.
  void wake() { wake_.ring(); }

  /// Goes on until nobody is left to be told, for a second at most: then no call begins. From now
  /// on a release rings for the first two, and that is all.
  void finish() noexcept;

 private:
  /// A lock that this process has freed.
  struct Freeing {
    Token ts;
    std::set<std::string> told;  // Processes.
    SteadyTime due;
    SteadyTime until;  // Waiters have looked by themselves by then.
  };
  using All = std::map<std::string, Freeing, std::less<>>;

  void ring(const std::string& name, std::vector<std::string> processes) const;
  void forget(const std::string& name);
  bool follow(const std::string& name, Freeing freeing);
  All::node_type take_due(SteadyTime now);
  bool go_on(const std::string& name, Freeing& freeing, const Limit& limit) const;
  void put_back(All::node_type one);
  SteadyTime set_next();
  SteadyTime hasten(SteadyTime due);

  const Environment& environment_;
  Lobby& lobby_;
  Wake wake_;
  boost::mutex mutex_;
  // Guarded by `mutex_`.
  All all_;
  SteadyTime next_ = SteadyTime::max();  // as the last round has said
  bool finished_ = false;
  bool given_up_ = false;  // No round calls the store any more (R12).
};

}  // namespace distlock
