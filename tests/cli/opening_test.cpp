#include "cli/opening.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "distlock/stores.h"
#include "support/descriptor_limit.h"
#include "support/idle_clock.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// A wait that finds a free lock in no store: each is replaced after two seconds.
struct Replaced {
  int wait_for(std::optional<std::chrono::milliseconds> most) {
    return wait_in_what_is_there(
        [this](const Waited& waited) {
          waits.push_back(waited());
          clock.advance(2s);
          after = waited();
          if (waits.size() == 4) return 7;
          throw Error(Errc::store_replaced, "jobs.db was replaced or removed");
        },
        clock, most, err);
  }

  IdleClock clock;
  std::vector<std::chrono::milliseconds> waits;
  std::chrono::milliseconds after{};
  std::ostringstream err;
};

/// A store that cannot be reached at first.
struct Away {
  std::shared_ptr<Store> open() {
    if (clock.waited() < until) throw Error(Errc::not_applied, "opening sqlite:jobs.db");
    return store;
  }
  std::shared_ptr<Store> open_within(std::optional<std::chrono::milliseconds> most) {
    return open_patiently([this] { return open(); },
                          {clock, stop.get_token(), most, "sqlite:jobs.db"}, err);
  }

  IdleClock clock;
  std::shared_ptr<Store> store = make_memory_store();
  std::chrono::nanoseconds until{};
  std::stop_source stop;
  std::ostringstream err;
};

/// A signal comes as soon as a wait begins that is no wait for an opening.
struct StoppedInAPause : IdleClock {
  bool wait_until(SteadyTime until, const std::stop_token& token) override {
    if (until < steady_now() + 1s) stop.request_stop();
    return IdleClock::wait_until(until, token);
  }
  std::stop_source stop;
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
  away.until = 1h;
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
  const auto refused = []() -> std::shared_ptr<Store> {
    throw Error(Errc::permission_denied, "opening");
  };
  CHECK(thrown_by([&] {
          return open_patiently(refused, {away.clock, {}, 60s, ""}, away.err);
        }) == Errc::permission_denied);
  CHECK(away.clock.waited() == 0s);
}

TEST_CASE("a store is not waited for where this process can open too few files",
          "[cli][run][unsanitized][R15]") {
  const auto spare = GENERATE(as<rlim_t>(), 0, 6);
  ManualClock clock;  // Which needs no files.
  std::ostringstream err;
  const auto away = []() -> std::shared_ptr<Store> {
    throw Error(Errc::not_applied, "opening sqlite:jobs.db");
  };
  const auto error_of_opening = [&] {
    const DescriptorLimit limit = spare_descriptors(spare);
    try {
      static_cast<void>(open_patiently(away, {clock, {}, 60s, "sqlite:jobs.db"}, err));
    } catch (const std::system_error& error) {
      return error.code().value();
    }
    return 0;
  };
  CHECK(error_of_opening() == EMFILE);
  CHECK(clock.waited() == 0s);
}

TEST_CASE("a signal ends the wait for a store", "[cli][run][R15]") {
  Away away;
  away.until = 1s;
  away.stop.request_stop();
  CHECK(away.open_within(60s) == nullptr);
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

TEST_CASE("a signal ends the pause before the next call to a store that is away",
          "[cli][run][R15]") {
  StoppedInAPause clock;
  std::ostringstream err;
  const auto away = []() -> std::shared_ptr<Store> { throw Error(Errc::not_applied, "opening"); };
  CHECK(open_patiently(away, {clock, clock.stop.get_token(), std::nullopt, ""}, err) == nullptr);
  CHECK(clock.waited() == 0s);
}

TEST_CASE("a wait whose store is replaced goes on there with what is left of it", "[cli][R15]") {
  Replaced scene;
  CHECK(thrown_by([&] { scene.wait_for(5s); }) == Errc::store_replaced);
  CHECK(scene.waits == std::vector<std::chrono::milliseconds>{0s, 2s, 4s});
  CHECK(scene.after == 6s);
  const std::string said = scene.err.str();
  CHECK_THAT(said, Catch::Contains("jobs.db was replaced or removed; waiting in the store"));
  CHECK(std::count(said.begin(), said.end(), '\n') == 2);
}

TEST_CASE("a wait for ever, or for centuries, goes on in each store that is there", "[cli][R15]") {
  Replaced scene;
  using std::chrono::milliseconds;
  const auto most = GENERATE(std::optional<milliseconds>(), std::optional(milliseconds::max()));
  CHECK(scene.wait_for(most) == 7);
}

TEST_CASE("a wait that ends by another error than a replaced store is over", "[cli][R15]") {
  IdleClock clock;
  std::ostringstream err;
  const auto wait = [](const Waited&) -> int { throw Error(Errc::bad_record, "malformed"); };
  CHECK(thrown_by([&] { wait_in_what_is_there(wait, clock, std::nullopt, err); }) ==
        Errc::bad_record);
  CHECK(err.str().empty());
}
