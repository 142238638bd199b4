#pragma once

#include <boost/thread/mutex.hpp>
#include <optional>
#include <string>

#include "distlock/store.h"
#include "fork_guard.h"
#include "protocol/protocol.h"

namespace distlock {

/// Logs why one lock object does not get its lock. While somebody waits for it, the same reason is
/// logged once until it changes.
///
/// Threads: any.
class RefusalLog {
 public:
  /// Somebody waits, until it is destroyed.
  class Wait {
   public:
    explicit Wait(RefusalLog& log) : log_(log) { log_.count(1); }
    ~Wait() {
      if (!fork_guard_.in_child()) log_.count(-1);
    }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    RefusalLog& log_;
    const ForkGuard fork_guard_;
  };
  bool somebody_waits() const;

  /// Notes the judgement of a lock's document. Nothing is logged of a free lock.
  void judged(const Inspection& seen, const protocol::Judgement& judgement);
  /// After a claim from what was seen got nothing. `name`: the lock's.
  static void claim_refused(const Inspection& seen, const protocol::Judgement& judgement,
                            const std::string& name);

 private:
  void count(int more);
  bool said_already(protocol::Reason reason);

  mutable boost::mutex mutex_;
  int waits_ = 0;
  std::optional<protocol::Reason> said_;
};

}  // namespace distlock
