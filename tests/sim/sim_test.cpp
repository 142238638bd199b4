#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "sim/batch.h"

using namespace distlock::sim;

namespace {

std::string trace_of(std::uint64_t seed, const Narrowing& narrowing = {}) {
  std::ostringstream out;
  run(setup_from(seed, narrowing), &out);
  return out.str();
}

}  // namespace

TEST_CASE("the same seed gives the same trace, byte by byte", "[sim]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const std::string trace = trace_of(seed);
    REQUIRE(trace == trace_of(seed));
    REQUIRE(trace.size() > 1000);
  }
}

TEST_CASE("other seeds give other traces", "[sim]") { CHECK(trace_of(1) != trace_of(2)); }

TEST_CASE("reading the trace does not change the run", "[sim]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::ostringstream out;
    const Outcome read = run(setup_from(seed), &out);
    const Outcome unread = run(setup_from(seed));
    CHECK(read.steps == unread.steps);
    CHECK(read.faults.happened == unread.faults.happened);
  }
}

TEST_CASE("a world without faults is quiet", "[sim]") {
  Narrowing none;
  none.faults = FaultSet{};
  Totals totals;
  for (std::uint64_t seed = 0; seed < 200; ++seed) totals.add(seed, run(setup_from(seed, none)));
  CHECK(totals.violations.empty());
  const auto count = [&](Event event) {
    return totals.events.happened[static_cast<std::size_t>(event)];
  };
  CHECK(count(Event::acquired) > 1000);
  for (const Event event : {Event::ping_failed, Event::lost, Event::forcefully_taking_over,
                            Event::claim_outcome_unknown, Event::store_clock_stepped}) {
    CAPTURE(name_of(event));
    CHECK(count(event) == 0);
  }
}

TEST_CASE("a run ends after a violation, though the faults are not over", "[sim]") {
  Narrowing narrowing;
  narrowing.mirrored = GENERATE(false, true);
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed, narrowing.mirrored);
    Setup setup = setup_from(seed, narrowing);
    setup.violated_at = setup.horizon / 3;
    const Outcome outcome = run(setup);
    REQUIRE(outcome.violation);
    CHECK(outcome.violation->find("asked for") != std::string::npos);
  }
}

TEST_CASE("a batch is the same whatever the number of jobs", "[sim]") {
  const std::atomic<bool> never{false};
  const Totals one = run_batch(0, 100, 1, {}, never, false);
  const Totals two = run_batch(0, 100, 2, {}, never, false);
  CHECK(one.steps == two.steps);
  CHECK(one.faults.mattered == two.faults.mattered);
}

TEST_CASE("the state of a batch is saved and read again", "[sim]") {
  const std::atomic<bool> never{false};
  Totals totals = run_batch(0, 20, 1, {}, never, false);
  totals.violations.emplace_back(7, "at 1.000000 s: two of them");
  std::stringstream file;
  save(file, 20, totals);
  Totals again;
  CHECK(load(file, "state", again) == 20);
  CHECK(again.runs == totals.runs);
  CHECK(again.faults.happened == totals.faults.happened);
  CHECK(again.events.happened == totals.events.happened);
  CHECK(again.violations == totals.violations);
}

TEST_CASE("a file that is no state of a batch is refused", "[sim]") {
  std::stringstream file("something else\n1 2 3\n");
  Totals totals;
  CHECK_THROWS_AS(load(file, "state", totals), std::runtime_error);
}
