#include "cli/run.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ostream>
#include <string>

#include "cli/duration.h"
#include "cli/exit_status.h"
#include "text.h"

namespace distlock::cli {
namespace {

bool claim(const RunArguments& arguments, DistributedLock& lock, const std::stop_token& stop,
           LockRecord& other) {
  if (!arguments.wait) return lock.lock(stop, arguments.why, &other);
  if (arguments.wait->count() == 0) return lock.lock_try(arguments.why, &other);
  return lock.try_lock_for(*arguments.wait, stop, arguments.why, &other);
}

void tell_busy(const RunArguments& arguments, const LockRecord& other, std::ostream& err) {
  err << "distlock: " << escaped(arguments.lock) << " is held by " << escaped(other.process);
  if (!other.why.empty()) err << " (" << escaped(other.why) << ")";
  if (arguments.wait && arguments.wait->count() > 0) {
    err << ", still after " << duration_text(*arguments.wait);
  }
  err << '\n';
}

int tell_interrupted(const RunArguments& arguments, int signal, std::ostream& err) {
  err << "distlock: " << strsignal(signal) << " while waiting for " << escaped(arguments.lock)
      << '\n';
  return kSignalled + signal;
}

// Seconds since boot, as the first word of /proc/uptime.
std::string boot_seconds(SteadyTime time) {
  const auto since_boot = std::max(time, SteadyTime{}).time_since_epoch();
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(since_boot).count();
  return std::to_string(ms / 1000) + '.' + std::to_string(1000 + ms % 1000).substr(1);
}

Command command_of(const RunArguments& arguments, const LockRecord& hold, SteadyTime valid_until) {
  return {.words = arguments.command,
          .environment = {{"DISTLOCK_NAME", hold.name},
                          {"DISTLOCK_FENCE", std::to_string(hold.fence)},
                          {"DISTLOCK_TOKEN", hold.ts ? to_hex(*hold.ts) : ""},
                          {"DISTLOCK_VALID_UNTIL", boot_seconds(valid_until)}}};
}

// How the command ended, or why it could not be started.
Ending ending_of_command(const RunArguments& arguments, const Command& command,
                         const Surroundings& surroundings) try {
  const Ending ending = surroundings.spawn(command);
  if (ending.by_signal) {
    surroundings.err << "distlock: " << escaped(arguments.command.front()) << " was ended by "
                     << strsignal(*ending.by_signal) << '\n';
  }
  return ending;
} catch (const StartFailure& failure) {
  surroundings.err << "distlock: cannot run " << escaped(arguments.command.front()) << ": "
                   << std::strerror(failure.error) << '\n';
  return {.exit_status = failure.error == ENOENT ? kNotFound : kNotExecutable};
}

// Why the command ran, at its end, without a lock to rely on.
std::optional<std::string> loss_of(const DistributedLock& lock, const Ending& ending) {
  const std::string lost = "lost " + escaped(lock.name()) + " while the command ran";
  if (const auto reason = lock.lost()) return lost + ": " + std::string(to_text(*reason));
  if (!lock.held()) return lost + ": " + std::string(to_text(LossReason::deadline_passed));
  if (!ending.cut_short) return std::nullopt;
  return "ended the command, for the deadline of " + escaped(lock.name()) +
         " drew near without a confirmed ping";
}

int unlock(DistributedLock& lock, int command_status, std::ostream& err) {
  switch (lock.unlock()) {
    case UnlockResult::released:
      break;
    case UnlockResult::pending:
      err << "distlock: could not release " << escaped(lock.name())
          << "; it can be taken over after " << duration_text(lock.options().takeover_after)
          << '\n';
      break;
    case UnlockResult::not_ours:
      err << "distlock: lost " << escaped(lock.name()) << " while the command ran\n";
      return kLockLost;
  }
  return command_status;
}

}  // namespace

int run(const RunArguments& arguments, DistributedLock& lock, const Surroundings& surroundings) {
  std::ostream& err = surroundings.err;
  LockRecord other;
  const bool got = claim(arguments, lock, surroundings.stop, other);
  const std::optional<int> signal = surroundings.end_waiting();
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
  const Ending ending = ending_of_command(arguments, command, surroundings);
  if (const auto loss = loss_of(lock, ending)) {
    err << "distlock: " << *loss << '\n';
    lock.unlock();
    return kLockLost;
  }
  return unlock(lock, ending.exit_status, err);
}

}  // namespace distlock::cli
