#pragma once

#include <sys/types.h>

#include "distlock/clock.h"

namespace distlock::cli {

/// A process besides this one that ends the command at its time even if this one is stopped
/// (SIGSTOP, ^Z), hangs or is killed: the kernel then still runs the command, and after the
/// deadline another holder's.
///
/// It is a child with a session of its own, so that what stops our group does not stop it.
/// A machine that stands still as a whole stops both; it is the first to look afterwards, but
/// only a resource that checks the fence is safe then (docs/guarantees.md).
///
/// Make it before the first thread: it goes on in a copy of this process.
class Keeper {
 public:
  Keeper();
  /// Ends it.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// Where the command says who it is: see enlist_with_keeper().
  int descriptor() const { return orders_; }

  pid_t id() const { return id_; }

  /// When all must be killed that descends from this process. SteadyTime::max(): never.
  void set_kill_at(SteadyTime at);

  /// The command has ended: nobody is to be killed any more.
  void dismiss();

 private:
  pid_t id_ = -1;
  int handle_ = -1;  ///< On it, for its number may be another's when it has ended.
  int orders_ = -1;
  SteadyTime last_sent_ = SteadyTime::min();
};

/// By the command itself before its exec, so that there is no moment when it runs unknown: whom to
/// kill if its parent is killed. Allocates nothing. `group`: that it leads, or 0.
void enlist_with_keeper(int descriptor, pid_t group);

}  // namespace distlock::cli
