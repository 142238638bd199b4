#pragma once

#include <catch2/catch.hpp>
#include <memory>

#include "support/mirror_fleet.h"
#include "support/original_tournament.h"

namespace distlock::testing {

/// Ann, bob and carol, each of whom has pinged.
struct ThreeOriginals {
  ThreeOriginals() {
    for (OriginalOnThree* one : {&ann, &bob, &carol}) one->ping();
    ann.find();  // Makes the lock's document.
  }
  void rounds(std::chrono::milliseconds during, const std::vector<OriginalOnThree*>& pinging) {
    constexpr std::chrono::seconds kPause{30};
    for (auto left = during; left.count() > 0; left -= kPause) {
      fleet.clock->advance(kPause);
      for (OriginalOnThree* one : pinging) one->ping();
    }
  }
  /// Ann's update gets lost on the way to the third server, so it is for step 5 to decide.
  void claim_on_two_by_ann() {
    ann.find();
    ann.begin_claim();
    ann.lose_next_write(2);
    for (const std::size_t server : kThree) ann.claim_on(server);
  }
  /// Step 5, up to the verdict.
  static void win_by_reading(OriginalOnThree& one) {
    REQUIRE(one.update_not_the_same());
    for (const std::size_t server : kThree) one.read_from(server);
    REQUIRE(one.greatest_is_ours());
  }
  static void propagate(OriginalOnThree& one) {
    for (const std::size_t server : kThree) one.propagate_to(server);
    REQUIRE(one.got_by_tournament());
  }

  MirrorFleet fleet;
  OriginalOnThree ann{fleet, "ann"};
  OriginalOnThree bob{fleet, "bob"};
  OriginalOnThree carol{fleet, "carol"};
};

/// The same three on a mirrored store.
struct ThreeMirrored {
  ThreeMirrored() {
    for (const MirrorProcess* one : {&ann, &bob, &carol}) one->pinger->ping_round();
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
  MirrorProcess bob = fleet.process("bob");
  std::shared_ptr<SteppedClock> clock_of_carol = std::make_shared<SteppedClock>(fleet.clock);
  MirrorProcess carol = fleet.process_with(clock_of_carol, "carol");
  std::unique_ptr<DistributedLock> of_ann = ann.lock("jobs");
  std::unique_ptr<DistributedLock> of_bob = bob.lock("jobs");
  std::unique_ptr<DistributedLock> of_carol = carol.lock("jobs");
};

}  // namespace distlock::testing
