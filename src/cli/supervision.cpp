#include "cli/supervision.h"

#include <poll.h>

#include <array>
#include <optional>

#include "cli/boot_timer.h"
#include "cli/event.h"
#include "cli/exit_status.h"

namespace distlock::cli {
namespace {

void pass_on(const Signals& signals, const ChildProcess& child) {
  while (const auto signal = signals.next()) {
    // A signal that the terminal sent to our group has reached the child already.
    const bool has_it = signal->to_group && child.is_in_our_group();
    if (signal->number == SIGCHLD) continue;
    if (!has_it) child.send(signal->number);
    child.send(SIGCONT);  // A stopped process would never heed it.
  }
}

void carry_out(Countdown::Step step, ChildProcess& child) {
  if (step == Countdown::Step::kill) child.send_to_all(SIGKILL);
  if (step == Countdown::Step::terminate) {
    child.send_to_all(SIGTERM);
    child.send_to_all(SIGCONT);  // A stopped process could not use its grace.
  }
}

Countdown::Due look(Countdown& countdown, const Guarded& hold) {
  const SteadyTime until = hold.valid_until();
  const SteadyTime now = host_clock()->steady_now();
  if (until != SteadyTime::min()) return countdown.look(now, until);
  return countdown.look(now, hold.ran_out() ? std::optional(now) : std::nullopt);
}

// A command that did not begin is gone, too, and somebody else may get its number.
std::optional<Ending> end_of(ChildProcess& child, Keeper& keeper) {
  try {
    return child.ended();
  } catch (const StartFailure&) {
    keeper.dismiss();
    throw;
  }
}

}  // namespace

Ending run_to_end(const Command& command, const Signals& signals, const Guarded& hold,
                  Keeper& keeper) {
  const Event lost;
  const std::stop_callback tell_lost(hold.lost, [&] { lost.set(); });
  const BootTimer timer;
  const SteadyTime until = hold.valid_until();
  Countdown countdown(hold.plan, until);
  // With `--on-loss ignore` a running command goes on after a loss. None begins without the lock.
  const bool over = until <= host_clock()->steady_now();
  if (over || look(countdown, hold).step != Countdown::Step::wait) {
    return {.exit_status = kLockLost, .cut_short = true, .begun = false};
  }
  keeper.set_kill_at(countdown.kill_at());
  ChildProcess child(command, signals, keeper);
  while (true) {
    // Before anything else, for we may have been stopped or suspended for long.
    const Countdown::Due due = look(countdown, hold);
    carry_out(due.step, child);
    if (auto ending = end_of(child, keeper);
        ending && !(countdown.begun() && child.left_something())) {
      keeper.dismiss();
      ending->cut_short = countdown.begun();
      return *ending;
    }
    keeper.set_kill_at(countdown.kill_at());
    timer.set(due.next);
    std::array<pollfd, 3> waited{{{.fd = signals.descriptor(), .events = POLLIN, .revents = 0},
                                  {.fd = timer.descriptor(), .events = POLLIN, .revents = 0},
                                  {.fd = lost.descriptor(), .events = POLLIN, .revents = 0}}};
    poll(waited.data(), waited.size(), -1);
    if (waited[2].revents != 0) lost.clear();
    // A deadline that has come due goes before a signal.
    if (waited[1].revents == 0 && waited[2].revents == 0) pass_on(signals, child);
  }
}

}  // namespace distlock::cli
