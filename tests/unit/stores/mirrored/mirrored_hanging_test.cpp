#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "distlock/members.h"
#include "stores/mirrored/member.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Members whose calls hang for good.

TEST_CASE("past a thousand calls that wait for a member, a further one is not sent",
          "[mirrored][M2]") {
  Gate gate;
  Gate done;
  std::atomic<std::size_t> made = 0;
  mirrored::Workers workers(1);
  const auto job = [&] {
    gate.pass();
    ++made;
  };
  workers.add(job);
  gate.wait_for(1);
  for (std::size_t i = 0; i < mirrored::kWaitingMost - 1; ++i) workers.add(job);
  workers.add([&] { done.pass(); });
  const auto refusal = thrown_by([&] { workers.add(job); });
  gate.open();
  done.wait_for(1);
  const std::size_t made_before = made;
  // The member answers again, and so its calls are sent again.
  const auto later = thrown_by([&] { workers.add(job); });
  done.open();
  CHECK(refusal == Errc::not_applied);
  CHECK(made_before == mirrored::kWaitingMost);
  CHECK_FALSE(later);
}

TEST_CASE("a member whose calls hang for good is named once too many wait for it",
          "[mirrored][M2]") {
  Gate gate;
  ThreeMembers three;
  three.members[1]->during_each_call([&](const std::string&) { gate.pass(); });
  // Each leaves one call behind. The first ones end when that call has begun.
  std::atomic<std::size_t> made = 0;
  three.members[0]->during_each_call(
      [&](const std::string&) { gate.wait_for(std::min(made.load(), mirrored::kCallsAtOnce)); });
  while (++made <= mirrored::kCallsAtOnce + mirrored::kWaitingMost) {
    static_cast<void>(three.store->carried("jobs"));
  }
  const MemberState state = three.store->members()->states()[1];
  gate.open();
  REQUIRE(state.failure);
  CHECK(state.failure->errc() == Errc::not_applied);
  CHECK(std::string(state.failure->what()) ==
        "no call of " + state.description + ": too many calls wait for its answer already");
}
