#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cli/arguments.h"
#include "cli/break.h"
#include "cli/connection.h"
#include "cli/exit_status.h"
#include "cli/log_sink.h"
#include "cli/run.h"
#include "cli/secrets.h"
#include "cli/signals.h"
#include "cli/status.h"
#include "cli/supervision.h"
#include "distlock/error.h"
#include "distlock/pinger.h"
#include "distlock/stores.h"

namespace distlock::cli {
namespace {

// Where the locks are. Says who else can read a password in it.
ConnectionString connection_of(const CommonArguments& arguments) {
  ConnectionString connection = connection_of(arguments.store);
  check_has_its_secrets(connection);
  if (arguments.verbosity != Verbosity::quiet) {
    warn_of_readers(connection, arguments.store, std::cerr);
  }
  return connection;
}

int carry_out(const RunArguments& arguments) {
  const LockOptions options{.takeover_after = arguments.takeover_after};
  const StoreOptions calls = StoreOptions::fitting(arguments.takeover_after);
  const Patience patience = fitting_patience({options, arguments.ping_every, calls.call_limit},
                                             arguments.grace, arguments.on_loss);
  Keeper keeper;  // Both before the store, which may start threads.
  const Signals signals;
  ignore(SIGPIPE);
  add_log_sink(arguments.common.verbosity);
  StopOnSignal stop(signals);

  Environment environment;
  environment.store = open_store(connection_of(arguments.common), calls);
  const auto pinger = std::make_shared<DistributedLockPinger>(
      environment, PingerOptions{.ping_every = arguments.ping_every});
  DistributedLock lock(pinger, arguments.lock, options);
  const auto spawn = [&](const Command& command) {
    const Guarded hold{.valid_until = [&] { return lock.valid_until(); },
                       .lost = lock.stop_token(),
                       .patience = patience};
    return run_to_end(command, signals, hold, keeper);
  };
  return run(arguments, lock,
             {.spawn = spawn,
              .stop = stop.token(),
              .end_waiting = [&] { return stop.end(); },
              .err = std::cerr});
}

template <class CommandArguments>
int look(const CommandArguments& arguments,
         int (*command)(const CommandArguments&, const Place&, const Streams&)) {
  add_log_sink(arguments.common.verbosity);
  const ConnectionString connection = connection_of(arguments.common);
  check_is_there(connection);
  const auto store = open_store(connection);
  const auto clock = host_clock();
  const int status =
      command(arguments, {*store, *clock, connection},
              {.in = std::cin,
               .out = std::cout,
               .err = std::cerr,
               .in_is_terminal = isatty(STDIN_FILENO) != 0,
               .out_in_colour = arguments.common.colour_allowed && isatty(STDOUT_FILENO) != 0});
  if (std::cout.flush()) return status;
  std::cerr << "distlock: cannot write to standard output\n";
  return kOutput;
}

int carry_out(const StatusArguments& arguments) { return look(arguments, status); }
int carry_out(const ListArguments& arguments) { return look(arguments, list); }
int carry_out(const BreakArguments& arguments) { return look(arguments, break_hold); }

int carry_out(const Information& information) {
  std::cout << information.text << std::flush;
  return std::cout ? kSuccess : kOutput;
}

int carry_out(const UsageError& error) {
  std::cerr << "distlock: " << error.problem << "; see distlock --help\n";
  return kUsage;
}

}  // namespace
}  // namespace distlock::cli

int main(int count, char** words) try {
  using namespace distlock::cli;
  forbid_core_files();
  ignore(SIGXFSZ);
  // The MongoDB driver keeps counters there from before main() on, and a SIGKILL would leave the
  // file behind. Who maps it already goes on doing so.
  shm_unlink(("/mongoc-" + std::to_string(getpid())).c_str());

  const std::vector<std::string> arguments(words + std::min(count, 1), words + count);
  const Arguments parsed =
      parse_arguments(arguments, [](const char* name) { return std::getenv(name); });
  hide_secrets(count, words);
  hide_secret_in_environment();
  return std::visit([](const auto& command) { return carry_out(command); }, parsed);
} catch (const distlock::Error& error) {
  std::cerr << "distlock: " << error.what() << '\n';
  return distlock::cli::exit_status_of(error.errc());
} catch (const std::exception& error) {
  std::cerr << "distlock: internal error: " << error.what() << '\n';
  return distlock::cli::kInternal;
}
