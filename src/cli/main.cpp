#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "cli/arguments.h"
#include "cli/break.h"
#include "cli/connection.h"
#include "cli/descendants.h"
#include "cli/exit_status.h"
#include "cli/leaving.h"
#include "cli/log_sink.h"
#include "cli/messages.h"
#include "cli/opening.h"
#include "cli/parse.h"
#include "cli/readmit.h"
#include "cli/role.h"
#include "cli/run.h"
#include "cli/secrets.h"
#include "cli/signals.h"
#include "cli/standard_streams.h"
#include "cli/status.h"
#include "cli/supervision.h"
#include "cli/watch.h"
#include "distlock/error.h"
#include "distlock/pinger.h"
#include "distlock/stores.h"

namespace distlock::cli {
namespace {

ConnectionString with_its_secrets(const CommonArguments& arguments) {
  ConnectionString connection = connection_of(arguments.store);
  check_has_its_secrets(connection);
  return connection;
}

void warn_of_readers(const ConnectionString& connection, const CommonArguments& arguments) {
  if (arguments.verbosity != Verbosity::quiet) {
    warn_of_readers(connection, arguments.store, std::cerr);
  }
}

// Where the locks are. Warns of other users who can read a password in it.
ConnectionString connection_of(const CommonArguments& arguments) {
  ConnectionString connection = with_its_secrets(arguments);
  warn_of_readers(connection, arguments);
  return connection;
}

std::shared_ptr<Store> opened(const ConnectionString& connection, const StoreOptions& calls = {}) {
  auto store = open_store(connection, calls);
  if (is_on_mongodb(connection)) keep_until_left(store);
  return store;
}

// The parts of a run that stay where it has to open its store anew.
struct RunPlan {
  const ConnectionString& connection;
  const LockOptions& options;
  const EndingPlan& ending;
  const StoreOptions& calls;
  const Signals& signals;
  Keeper& keeper;
};

// No store: a signal ended the wait, of which `waited` is over.
std::shared_ptr<Store> open_for(const RunArguments& arguments, const RunPlan& plan,
                                const std::stop_token& stop, std::chrono::milliseconds waited) {
  const ConnectionString& connection = plan.connection;
  check_excludes(connection);
  check_is_a_lock(arguments.lock);
  make_default_folder(arguments.common.store);
  std::optional<std::chrono::milliseconds> left, most = arguments.store_patience;
  if (arguments.wait) left = std::max(*arguments.wait - waited, std::chrono::milliseconds{0});
  if (left) most = std::min(most.value_or(*left), *left);
  const auto clock = host_clock();
  StoreOptions options = plan.calls;
  options.witness = WitnessRule::command;
  const auto open = [connection, options] {
    auto store = opened(connection, options);
    check_is_no_member(*store, connection);
    return store;
  };
  return open_patiently(open, {*clock, stop, most, connection.redacted(), left}, std::cerr);
}

// The status that an error of `command` ends with, which it tells.
template <class Callable>
int told(const Callable& command) try {
  return command();
} catch (const Error& error) {
  std::cerr << "distlock: " << error.what() << '\n';
  return exit_status_of(error.errc());
} catch (const std::system_error& error) {
  std::cerr << "distlock: " << error.what() << '\n';
  return kInternal;
} catch (const std::exception& error) {
  std::cerr << "distlock: internal error: " << error.what() << '\n';
  return kInternal;
}

int run_in_store(const RunArguments& arguments, const RunPlan& plan, StopOnSignal& stop,
                 const std::shared_ptr<Store>& store, std::chrono::milliseconds waited) {
  Environment environment;
  environment.store = store;
  const auto pinger = std::make_shared<DistributedLockPinger>(
      environment, PingerOptions{.ping_every = arguments.ping_every});
  DistributedLock lock(pinger, arguments.lock, plan.options);
  const auto spawn = [&](const Command& command) {
    plan.keeper.guard(command.token, plan.options.takeover_after,
                      environment.store->share_witness(pinger->process()));
    const Guarded hold{.valid_until = [&] { return lock.valid_until(); },
                       .lost = lock.stop_token(),
                       .plan = store->members() ? for_nearer_deadlines(plan.ending) : plan.ending,
                       .ran_out = [&] { return lock.lost() == LossReason::deadline_passed; }};
    return run_to_end(command, plan.signals, hold, plan.keeper);
  };
  return run(arguments, lock,
             {.spawn = spawn,
              .stop = stop.token(),
              .end_waiting = [&] { return stop.end(); },
              .err = std::cerr,
              .err_is_terminal = isatty(STDERR_FILENO) != 0,
              .waited = waited});
}

int carry_out(const RunArguments& arguments, const RunPlan& plan) {
  add_log_sink(arguments.common.verbosity);
  warn_of_readers(plan.connection, arguments.common);
  if (arguments.on_loss != OnLoss::ignore) warn_of_hidden_descendants(std::cerr);
  StopOnSignal stop(plan.signals);
  const auto wait = [&](const Waited& waited) {
    const auto store = open_for(arguments, plan, stop.token(), waited());
    if (!store) return tell_interrupted(arguments, stop.end().value_or(0), std::cerr);
    return run_in_store(arguments, plan, stop, store, waited());
  };
  return wait_in_what_is_there(wait, *host_clock(), arguments.wait, std::cerr);
}

// Zeros if standard output is no terminal; 80 columns and 24 rows if the terminal does not say.
TerminalSize terminal() {
  if (isatty(STDOUT_FILENO) == 0) return {};
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

int carry_out(const RunArguments& arguments) {
  const LockOptions options = lock_options(arguments);
  const StoreOptions calls = calls_of(arguments);
  const EndingPlan plan = fitting_plan({options, arguments.ping_every, calls.call_limit},
                                       arguments.grace, arguments.on_loss);
  ignore(SIGPIPE);
  // Once: its file may be a pipe. And while a signal still ends this process by itself.
  std::packaged_task<ConnectionString()> read([&] { return with_its_secrets(arguments.common); });
  read();
  Keeper keeper;  // Before the first thread, as are the signals.
  // After the end of the command a signal must not change the status.
  const Signals signals(AfterSignals::blocked);
  const BackgroundMessages messages;
  return told([&] {
    const ConnectionString connection = read.get_future().get();
    return carry_out(arguments, {connection, options, plan, calls, signals, keeper});
  });
}

// For those that make no store. Of a mirrored store those that look show which members are there.
std::shared_ptr<Store> opened_if_there(const ConnectionString& connection,
                                       OpeningRule opening = OpeningRule::to_look) {
  const bool shows_members =
      opening == OpeningRule::to_look && connection.kind() == StoreKind::mirrored;
  if (!shows_members) check_is_there(connection);
  try {
    return opened(connection, {.opening = opening});
  } catch (const Error&) {
    check_room_for_files();
    throw;
  }
}

Streams streams_for(const CommonArguments& arguments) {
  const TerminalSize size = terminal();
  return {.in = std::cin,
          .out = std::cout,
          .err = std::cerr,
          .in_is_terminal = isatty(STDIN_FILENO) != 0,
          .out_in_colour = arguments.colour_allowed && isatty(STDOUT_FILENO) != 0,
          .out_width = size.width,
          .out_height = size.height};
}

// `status`, or that of output that cannot be written, which it says.
int written(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "distlock: cannot write to standard output\n";
  return kOutput;
}

template <class CommandArguments>
int look(const CommandArguments& arguments,
         int (*command)(const CommandArguments&, const OpenedStore&, const Streams&),
         OpeningRule opening = OpeningRule::to_look) {
  add_log_sink(arguments.common.verbosity);
  const ConnectionString connection = connection_of(arguments.common);
  const auto store = opened_if_there(connection, opening);
  const auto clock = host_clock();
  return written(command(arguments, {*store, *clock, connection}, streams_for(arguments.common)));
}

int watch(const ListArguments& arguments) {
  add_log_sink(arguments.common.verbosity);
  const ConnectionString connection = connection_of(arguments.common);
  const auto clock = host_clock();
  const auto open = [&] { return opened_if_there(connection); };
  return written(
      watch_list(arguments, {open, *clock, connection, terminal}, streams_for(arguments.common)));
}

int carry_out(const StatusArguments& arguments) { return look(arguments, status); }
int carry_out(const ListArguments& arguments) {
  return arguments.watch ? watch(arguments) : look(arguments, list);
}
// A step that was asked for is done, also where nobody reads of it.
int carry_out(const BreakArguments& arguments) {
  ignore(SIGPIPE);
  check_is_a_lock(arguments.lock);
  const auto break_no_member = [](const BreakArguments& one, const OpenedStore& store,
                                  const Streams& streams) {
    check_is_no_member(store.store, store.connection);
    return break_hold(one, store, streams);
  };
  return look<BreakArguments>(arguments, break_no_member);
}
// The member that it takes back may be a file that is missing.
int carry_out(const ReadmitArguments& arguments) {
  ignore(SIGPIPE);
  return look(arguments, readmit, OpeningRule::to_lock);
}

int carry_out(const RoleArguments& arguments) {
  print_role(std::cout, arguments);
  return written(kSuccess);
}

int carry_out(const Information& information) {
  std::cout << information.text;
  return written(kSuccess);
}

int carry_out(const UsageError& error) {
  std::cerr << "distlock: " << error.problem
            << "; see distlock --help, or --help behind a command\n";
  return kUsage;
}

}  // namespace
}  // namespace distlock::cli

int main(int count, char** words) {
  using namespace distlock::cli;
  return leave(told([&] {
    fill_closed_streams();
    forbid_core_files();
    ignore(SIGXFSZ);
    heed_signals_as_first_process(getpid());
    // The MongoDB driver keeps counters there from before main() on, and a SIGKILL would leave the
    // file behind. A process that has mapped it already keeps its map.
    shm_unlink(("/mongoc-" + std::to_string(getpid())).c_str());
    const std::vector<std::string> arguments(words + std::min(count, 1), words + count);
    const Arguments parsed =
        parse_arguments(arguments, [](const char* name) { return std::getenv(name); });
    hide_secrets(count, words);
    hide_secret_in_environment();
    return std::visit([](const auto& command) { return carry_out(command); }, parsed);
  }));
}
