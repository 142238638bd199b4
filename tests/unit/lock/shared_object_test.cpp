// Threads that wait for one lock object, which another thread has (R20).
#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "support/crowd.h"
#include "support/queued.h"

using namespace distlock;
using namespace distlock::testing;

TEST_CASE("threads that wait for one object get it in the order in which they came",
          "[waiting][R20][threads]") {
  Crowd crowd;
  const auto shared = std::make_shared<DistributedLock>(crowd.pinger, "jobs", patient_options());
  REQUIRE(shared->lock_try("before"));
  std::vector<std::unique_ptr<Candidate>> waiting;
  for (int i = 0; i < 6; ++i) waiting.push_back(std::make_unique<Candidate>(crowd, shared));
  REQUIRE(shared->unlock() == UnlockResult::released);
  for (const auto& next : waiting) CHECK(next->give_up() == UnlockResult::released);
}

TEST_CASE("a thread that waits for an object learns until when another thread's try holds it",
          "[waiting][R20][threads]") {
  Crowd crowd;
  DistributedLock tried(crowd.pinger, "jobs", patient_options());
  KeptTry trying(crowd, tried);
  const Queued behind(tried);
  comes_to_be([&] { return crowd.clock->waits(behind.id); });
  trying.end();
  REQUIRE(tried.held());
  const auto knows = [&] { return crowd.clock->waits_until(behind.id) == tried.valid_until(); };
  CHECK_NOTHROW(comes_to_be(knows));
}
