// One look at all locks for all threads of a process that wait (R20, R22).
#include "pinger/overview.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>

#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

struct OneProcess {
  Fleet fleet;
  std::shared_ptr<FaultyStore> store = std::make_shared<FaultyStore>(fleet.store);
  Overviews overviews{store, "a", [](const Token&) { return false; },
                      [](const Token&) { return std::nullopt; }};
  ManualClock& clock = *fleet.clock;
};

}  // namespace

TEST_CASE("a thread gets the look that another had, if it is not too old", "[deadlock][R20][R22]") {
  OneProcess process;
  const SteadyTime begun = process.clock.steady_now();
  const auto first = process.overviews.get(begun, process.clock);
  process.clock.advance(1s);
  CHECK(process.overviews.get(begun, process.clock) == first);
  CHECK(process.overviews.get(begun + 1ns, process.clock) != first);
  CHECK(process.store->calls("list") == 2);
}

TEST_CASE("a look that nobody has any more is not kept", "[deadlock][R20][R22]") {
  OneProcess process;
  const SteadyTime begun = process.clock.steady_now();
  const std::weak_ptr<const Overview> seen = process.overviews.get(begun, process.clock);
  CHECK(seen.expired());
}

TEST_CASE("a store that fails is asked once for all threads", "[deadlock][R20][R22]") {
  OneProcess process;
  process.store->fail("list", Fault::rejected);
  const SteadyTime begun = process.clock.steady_now();
  const auto nothing = process.overviews.get(begun, process.clock);
  CHECK_FALSE(nothing->now);
  CHECK(process.overviews.get(begun, process.clock) == nothing);
  CHECK(process.store->calls("list") == 1);
}

TEST_CASE("one thread of a process looks at a time, and those that come meanwhile do not wait",
          "[deadlock][R20][R22]") {
  OneProcess process;
  const SteadyTime begun = process.clock.steady_now();
  std::promise<void> looking;
  std::promise<void> go_on;
  process.store->before("list", [&] {
    looking.set_value();
    go_on.get_future().wait();
  });
  std::shared_ptr<const Overview> first;
  boost::thread looks([&] { first = process.overviews.get(begun, process.clock); });
  looking.get_future().wait();
  CHECK(process.overviews.get(begun, process.clock) == nullptr);
  go_on.set_value();
  looks.join();
  CHECK(process.overviews.get(begun, process.clock) == first);
  CHECK(process.store->calls("list") == 1);
}
