// Waits that end with a claim whose outcome nobody knows, and without a look after it (R2, R15).
#include <catch2/catch.hpp>

#include "distlock/error.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a wait that ends with a failed claim from its own release is an error, and not busy",
          "[waiting][R2][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = GENERATE(true, false);
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  const auto cutoff_passes = a.store->call_limit() * 9 / 8;
  int looks = 0;
  a.store->fail("claim", Fault::lost_request);
  // The second look back outlasts the wait.
  a.store->during_each_call([&](const std::string& call) {
    if (call == "inspect" && ++looks == 2) fleet.clock->advance(2s);
  });
  CHECK(thrown_by([&] { return lock->try_lock_for(cutoff_passes + 1s); }) == Errc::outcome_unknown);
  a.store->during_each_call({});
  CHECK(looks == 2);
  CHECK(a.pinger->stats().pending_releases == 1);
}

TEST_CASE("a claim for which a wait had no time hides no failure of the claim before",
          "[waiting][R2][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  make_known_free(*a.lock("balancer"));
  const auto lock = a.lock("balancer");
  fleet.clock->advance(55s);
  a.store->fail("claim", Fault::lost_request);
  a.store->forget_calls();
  // The second claim needs a new ping, which outlasts the wait.
  a.store->before("ping", [&] { fleet.clock->advance(5s); });
  CHECK(thrown_by([&] { return lock->try_lock_for(15s); }) == Errc::outcome_unknown);
  CHECK(a.store->calls("claim") == 1);
  CHECK(a.store->calls("ping") == 1);
}
