#pragma once

#include <sys/types.h>

#include <chrono>
#include <string_view>

#include "cli/descendants.h"
#include "cli/notice.h"
#include "distlock/clock.h"

namespace distlock::cli {

/// A process besides this one that ends the command at its time even if this one is stopped
/// (SIGSTOP, ^Z), hangs or is killed: the kernel then still runs the command, and after the
/// deadline another holder's.
///
/// It is a child with a session of its own, so that what stops our group does not stop it.
/// A machine that stands still as a whole stops both. The keeper looks first afterwards, but only
/// a resource that checks the fence is safe then (docs/guarantees.md).
///
/// Make it before the first thread: it is a fork that executes no other program.
class Keeper {
 public:
  Keeper();
  /// Ends it.
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// For enlist_with_keeper(), in the command.
  int descriptor() const { return orders_; }

  pid_t id() const { return process_.id; }

  /// As it was when it began, also where it has been killed since.
  const ProcessIdentity& process() const { return process_; }

  /// When all must be killed that descends from this process. SteadyTime::max(): never.
  void set_kill_at(SteadyTime at);

  /// How far the kernel's clock is ahead of host_clock(), which a library may have set. For the
  /// parent just before its fork.
  static std::chrono::nanoseconds kernel_ahead();

  /// The time of set_kill_at() has come. For the child between fork and exec: allocates nothing,
  /// waits for no mutex. `ahead`: kernel_ahead().
  bool time_is_over(std::chrono::nanoseconds ahead) const;

  /// Before a command begins whose DISTLOCK_TOKEN that is. Should this process be killed, the
  /// keeper stays until nothing of the command runs, at most for the window. At the time above it
  /// kills what is left. So long it keeps `witness`: Store::share_witness(), which this closes.
  void guard(std::string_view token, std::chrono::nanoseconds window, int witness);

  /// The command has ended: the keeper kills no process any more.
  void dismiss();

 private:
  Notice notice_;
  ProcessIdentity process_;
  int handle_ = -1;  ///< A pidfd: after its end another process may get its number.
  int orders_ = -1;
};

/// Tells the keeper of this process, the command, and which group to kill with it. Called before
/// its exec, so that it never runs unknown. Allocates nothing. `group`: that it leads, or 0.
void enlist_with_keeper(int descriptor, pid_t group);

}  // namespace distlock::cli
