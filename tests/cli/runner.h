#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "cli/run.h"
#include "support/fleet.h"

namespace distlock::cli::testing {

inline RunArguments arguments_for(const std::string& lock) {
  RunArguments arguments;
  arguments.lock = lock;
  arguments.command = {"backup"};
  arguments.why = "backup";
  arguments.window.takeover_after = std::chrono::minutes{16};
  return arguments;
}

/// `distlock run jobs`, with a command made up by the test.
class Runner {
 public:
  int runs(const RunArguments& arguments, const std::function<Ending(const Command&)>& command) {
    const auto lock = runner.lock(arguments.lock, lock_options(arguments));
    return run(arguments, *lock,
               {.spawn = command,
                .stop = stop.get_token(),
                .end_waiting = [&] { return signal; },
                .err = err,
                .err_is_terminal = on_terminal,
                .waited = waited});
  }

  /// A waiter more, at the end of the line.
  void stands_behind(int ticket) {
    const Claim claim = fleet.claim_by("waiter", Token{{static_cast<std::uint8_t>(ticket)}});
    REQUIRE(fleet.store->line()->stand("jobs", claim).in_line);
  }

  /// From now on the store answers nothing that a wait has to ask.
  void goes_away() {
    for (const char* const call : {"ping", "inspect"}) {
      runner.store->fail(call, distlock::testing::Fault::rejected, 1000);
    }
  }

  distlock::testing::Fleet fleet;
  distlock::testing::Process runner = fleet.process("runner");
  distlock::testing::Process rival = fleet.process("rival");
  std::stop_source stop;
  std::optional<int> signal;
  bool on_terminal = false;
  std::chrono::milliseconds waited{0};
  std::ostringstream err;
};

inline Ending exits(int status) { return {.exit_status = status}; }

}  // namespace distlock::cli::testing
