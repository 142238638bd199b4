#include "cli/run.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>

#include "cli/duration.h"
#include "cli/exit_status.h"
#include "cli/leaving.h"
#include "cli/signals.h"
#include "cli/view_cells.h"
#include "distlock/error.h"
#include "processes.h"
#include "text.h"

namespace distlock::cli {
namespace {

void tell_holder(const LockRecord& other, std::ostream& err) {
  err << "held by " << holder_in_words(other);
  if (!other.why.empty()) err << " (" << escaped(other.why) << ")";
}

void tell_waiting(const RunArguments& arguments, const WaitReport& wait,
                  const RunContext& context) {
  if (!wait.lock) {
    context.err << "distlock: " << wait.failure << "; waiting for the store\n" << std::flush;
    return;
  }
  const bool quiet = arguments.common.verbosity == Verbosity::quiet;
  if (quiet || !context.err_is_terminal) return;
  context.err << "distlock: waiting for " << escaped(arguments.lock);
  if (wait.lock->taken()) {
    context.err << ", ";
    tell_holder(*wait.lock, context.err);
  }
  if (wait.place) context.err << ", " << place_text(*wait.place) << " in line";
  context.err << '\n' << std::flush;
}

// One wait, which keeps its place in line from its beginning to its end.
bool claim(const RunArguments& arguments, DistributedLock& lock, const RunContext& context,
           LockRecord& other) {
  lock.on_waiting([&](const WaitReport& wait) { tell_waiting(arguments, wait, context); });
  if (!arguments.wait) return lock.lock(context.stop, arguments.why, &other);
  // With no time left it is one try, which a signal ends, too.
  const auto left = *arguments.wait - context.waited;
  return lock.try_lock_for(left, context.stop, arguments.why, &other);
}

void tell_busy(const RunArguments& arguments, const LockRecord& other, std::ostream& err) {
  if (arguments.common.verbosity == Verbosity::quiet) return;
  const bool waited = arguments.wait && arguments.wait->count() > 0;
  const std::string name = escaped(arguments.lock);
  if (other.taken()) {
    err << "distlock: " << name << " is ";
    tell_holder(other, err);
    if (waited) err << ", still after " << duration_text(*arguments.wait);
  } else {
    err << "distlock: did not get " << name;
    if (waited) err << " within " << duration_text(*arguments.wait);
    err << "; it was free when last seen, and another process may be first in line";
  }
  err << '\n';
}

// Seconds since boot, as the first word of /proc/uptime.
std::string boot_seconds(SteadyTime time) {
  const auto since_boot = std::max(time, SteadyTime{}).time_since_epoch();
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(since_boot).count();
  return std::to_string(ms / 1000) + '.' + std::to_string(1000 + ms % 1000).substr(1);
}

Command command_of(const RunArguments& arguments, const LockRecord& hold, SteadyTime valid_until) {
  const std::string token = hold.ts ? to_hex(*hold.ts) : "";
  Command command{.words = arguments.command,
                  .environment = {{"DISTLOCK_NAME", hold.name},
                                  {"DISTLOCK_FENCE", std::to_string(hold.fence)},
                                  {std::string(kTokenVariable), token},
                                  {"DISTLOCK_VALID_UNTIL", boot_seconds(valid_until)}},
                  .token = token};
  const std::string outer = outer_tokens();
  if (!outer.empty()) command.environment.emplace_back(kOuterTokensVariable, outer);
  return command;
}

std::string end_in_words(const RunArguments& arguments, int signal) {
  return escaped(arguments.command.front()) + " was ended by " + signal_name(signal);
}

// How the command ended, or why it could not be started.
Ending ending_of_command(const RunArguments& arguments, const Command& command,
                         const RunContext& context) try {
  const Ending ending = context.spawn(command);
  if (!ending.by_signal || ending.cut_short) return ending;
  const int number = *ending.by_signal;
  // In a pipeline that is how a command ends whose output nobody wants.
  if (number != SIGPIPE) context.err << "distlock: " << end_in_words(arguments, number) << '\n';
  end_by(number);
  return ending;
} catch (const StartFailure& failure) {
  context.err << "distlock: cannot run " << escaped(arguments.command.front()) << ": "
              << std::strerror(failure.error) << '\n';
  return {.exit_status = failure.error == ENOENT ? kNotFound : kNotExecutable, .begun = false};
}

std::string lost(const DistributedLock& lock, const Ending& ending) {
  return "lost " + escaped(lock.name()) +
         (ending.begun ? " while the command ran" : " before the command began");
}

// Why the command ran, at its end, without a lock to rely on.
std::optional<std::string> loss_of(const DistributedLock& lock, const Ending& ending) {
  const auto because = [&](LossReason reason) {
    return lost(lock, ending) + ": " + std::string(to_text(reason));
  };
  if (const auto reason = lock.lost()) return because(*reason);
  if (!lock.held()) return because(LossReason::deadline_passed);
  if (!ending.cut_short) return std::nullopt;
  return (ending.begun ? "ended the command, for the deadline of "
                       : "did not start the command, for the deadline of ") +
         escaped(lock.name()) + " drew near without a confirmed ping";
}

int unlock(DistributedLock& lock, const Ending& ending, std::ostream& err) {
  switch (lock.unlock()) {
    case UnlockResult::released:
      break;
    case UnlockResult::pending:
      err << "distlock: could not release " << escaped(lock.name())
          << "; it can be taken over after " << duration_text(lock.options().takeover_after)
          << '\n';
      break;
    case UnlockResult::not_ours:
      err << "distlock: " << lost(lock, ending) << '\n';
      return kLockLost;
  }
  return ending.exit_status;
}

}  // namespace

LockOptions lock_options(const RunArguments& arguments) {
  // A hundred years: the wait itself ends it.
  constexpr std::chrono::hours kForEver{24 * 365 * 100};
  return {.takeover_after = arguments.window.takeover_after,
          .release_rule = ReleaseRule::durable,  // The process ends right after it (R3).
          .store_patience = arguments.store_patience.value_or(kForEver),
          .unstated_window = arguments.window.unstated_window};
}

int tell_interrupted(const RunArguments& arguments, int number, std::ostream& err) {
  err << "distlock: " << signal_name(number) << " while waiting for " << escaped(arguments.lock)
      << '\n';
  end_by(number);
  return kSignalled + number;
}

int run(const RunArguments& arguments, DistributedLock& lock, const RunContext& context) {
  std::ostream& err = context.err;
  LockRecord other;
  const bool got = claim(arguments, lock, context, other);
  const std::optional<int> signal = context.end_waiting();
  if (signal) {
    if (got) lock.unlock();
    return tell_interrupted(arguments, *signal, err);
  }
  if (!got) {
    tell_busy(arguments, other, err);
    return arguments.conflict_exit_status;
  }
  const LockRecord hold = lock.record();
  if (arguments.common.verbosity == Verbosity::verbose) {
    err << "distlock: holding " << escaped(hold.name) << ", fence " << hold.fence << '\n';
  }
  const Command command = command_of(arguments, hold, lock.valid_until());
  const Ending ending = ending_of_command(arguments, command, context);
  if (const auto loss = loss_of(lock, ending)) {
    err << "distlock: " << *loss;
    if (ending.by_signal && ending.cut_short) {
      err << "; " << end_in_words(arguments, *ending.by_signal);
    }
    err << '\n';
    lock.unlock();
    return kLockLost;
  }
  return unlock(lock, ending, err);
}

}  // namespace distlock::cli
