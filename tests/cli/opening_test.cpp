#include "cli/opening.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <sstream>
#include <system_error>

#include "distlock/stores.h"
#include "no_descriptors.h"
#include "support/manual_clock.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// A store that cannot be reached at first.
struct Away {
  std::shared_ptr<Store> open() {
    if (clock.waited() < until) throw Error(Errc::not_applied, "opening sqlite:jobs.db");
    return store;
  }
  std::shared_ptr<Store> open_within(std::optional<std::chrono::milliseconds> most) {
    const auto open = [this](const StoreOptions& options) {
      limits.push_back(options.call_limit);
      return this->open();
    };
    return open_patiently(open, {clock, stop.get_token(), most, 10s}, err);
  }

  ManualClock clock;
  std::shared_ptr<Store> store = make_memory_store();
  std::chrono::nanoseconds until{};
  std::stop_source stop;
  std::ostringstream err;
  std::vector<std::chrono::milliseconds> limits;
};

}  // namespace

TEST_CASE("a store that is not there yet is waited for, which is said once", "[cli][run][R15]") {
  Away away;
  away.until = 50s;
  CHECK(away.open_within(60s) == away.store);
  CHECK(away.clock.waited() < 51s);
  const std::string said = away.err.str();
  CHECK_THAT(said, Catch::Contains("sqlite:jobs.db; waiting for the store"));
  CHECK(said.find("waiting") == said.rfind("waiting"));
}

TEST_CASE("by default a store that is away is waited for without an end", "[cli][run][R15]") {
  Away away;
  away.until = 24h;
  CHECK(away.open_within(std::nullopt) == away.store);
}

TEST_CASE("the wait for a store ends in the store's error", "[cli][run][R15]") {
  Away away;
  away.until = 61s;
  CHECK(thrown_by([&] { return away.open_within(60s); }) == Errc::not_applied);
  CHECK(away.clock.waited() == 60s);
}

TEST_CASE("without waiting, a store that is away is an error at once", "[cli][run][R15]") {
  Away away;
  away.until = 1s;
  CHECK(thrown_by([&] { return away.open_within(0ms); }) == Errc::not_applied);
  CHECK(away.clock.waited() == 0s);
  CHECK(away.err.str().empty());
}

TEST_CASE("an error that waiting does not mend ends the wait at once", "[cli][run]") {
  Away away;
  const auto refused = [](const StoreOptions&) -> std::shared_ptr<Store> {
    throw Error(Errc::permission_denied, "opening");
  };
  CHECK(thrown_by([&] {
          return open_patiently(refused, {away.clock, {}, 60s, 10s}, away.err);
        }) == Errc::permission_denied);
  CHECK(away.clock.waited() == 0s);
}

TEST_CASE("a store is not waited for where this process can open too few files",
          "[cli][run][unsanitized][R15]") {
  Away away;
  away.until = 24h;
  const auto error_of_opening = [&] {
    const NoDescriptors limit;
    try {
      away.open_within(std::nullopt);
    } catch (const std::system_error& error) {
      return error.code().value();
    }
    return 0;
  };
  CHECK(error_of_opening() == EMFILE);
  CHECK(away.clock.waited() == 0s);
}

TEST_CASE("a signal ends the wait for a store", "[cli][run][R15]") {
  Away away;
  away.until = 1s;
  away.stop.request_stop();
  CHECK(away.open_within(60s) == nullptr);
}

TEST_CASE("a call to a store that is away lasts no longer than the wait for it",
          "[cli][run][R15]") {
  Away away;
  away.until = 24h;
  CHECK(thrown_by([&] { return away.open_within(2s); }) == Errc::not_applied);
  REQUIRE(away.limits.size() > 2);
  CHECK(away.limits.front() == 2s);
  CHECK(away.limits[1] == 1900ms);
  CHECK(away.limits.back() == 250ms);
}

TEST_CASE("a store that answers in time is used with its own call limit", "[cli][run][R15]") {
  Away away;
  CHECK(away.open_within(2s) == away.store);
  CHECK(away.limits == std::vector<std::chrono::milliseconds>{2s, 10s});
}

TEST_CASE("a run that does not wait gives a store its whole call limit", "[cli][run][R15]") {
  Away away;
  const auto most = GENERATE(std::optional<std::chrono::milliseconds>(0ms),
                             std::optional<std::chrono::milliseconds>(-1ms),  // Over.
                             std::optional<std::chrono::milliseconds>());
  CHECK(away.open_within(most) == away.store);
  CHECK(away.limits == std::vector<std::chrono::milliseconds>{10s});
}

TEST_CASE("a store call leaves time for what follows a ping", "[cli][run][R9]") {
  const auto limit = [](std::chrono::milliseconds takeover_after,
                        std::chrono::milliseconds ping_every) {
    RunArguments run;
    run.window.takeover_after = takeover_after;
    run.ping_every = ping_every;
    return calls_of(run).call_limit;
  };
  CHECK(limit(1min, 7500ms) == 3750ms);
  CHECK(limit(1min, 2s) == 1s);
  CHECK(limit(16min, 30s) == 10s);
  CHECK(limit(2s, 250ms) == 250ms);
  CHECK(limit(80ms, 10ms) == 10ms);
}
