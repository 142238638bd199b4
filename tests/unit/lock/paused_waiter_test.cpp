// A waiter that stands still for longer than a grant of its place is valid. The others go on (R9,
// R17).
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// "holder" has the lock. "paused" waits for it in front of "later", and stops in its second look.
// The lock becomes free in its fourth.
struct Paused {
  Paused() {
    REQUIRE(held->lock_try("a long job"));
    paused.store->has_line = true;
    paused.store->during_each_call([this](const std::string& call) {
      if (call != "inspect" || over) return;
      ++looks;
      if (looks == 1) stand_behind();
      if (looks == 2) pause();
      if (looks == 4) free();
    });
  }
  ~Paused() { paused.store->during_each_call({}); }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

  bool waits() {
    LockRecord other;
    const bool got = lock->try_lock_for(2h, {}, "waits", &other);
    over = true;
    return got;
  }
  void stand_behind() {
    const Claim later = fleet.claim_by("later", Token{{7}});
    REQUIRE(fleet.store->line()->stand("jobs", later).in_line);
  }
  void pause() const {
    for (int i = 0; i < 2; ++i) {
      fleet.clock->advance(10min);
      holder.pinger->ping_round();
    }
    paused.pinger->ping_round();
  }
  void free() {
    free_at = looks;
    holder.pinger->ping_round();
    REQUIRE(held->unlock() == UnlockResult::released);
  }
  void rival_takes_over() {
    const Token late = *fleet.stored("jobs").ts;
    fleet.store->ping("rival", {});
    const Claim claim = fleet.claim_by("rival", Token{{9}});
    REQUIRE(fleet.store->claim("jobs", FromHold{late}, claim));
  }
  void rival_releases() const {
    REQUIRE(fleet.store->release("jobs", Token{{9}}) == ReleaseResult::freed);
  }
  std::size_t pending() const { return paused.pinger->stats().pending_releases; }

  Fleet fleet;
  distlock::testing::Process holder = fleet.process("holder");
  distlock::testing::Process paused = fleet.process("paused");
  std::unique_ptr<DistributedLock> held = holder.lock("jobs");
  std::unique_ptr<DistributedLock> lock = paused.lock("jobs");
  int looks = 0;
  int free_at = 0;
  bool over = false;
};

}  // namespace

TEST_CASE("a waiter that stood still for longer than its grant is valid keeps its turn",
          "[waiting][R9][R17]") {
  Paused scene;
  REQUIRE(scene.waits());
  REQUIRE(scene.free_at == 4);
  CHECK(scene.lock->fence() == 3);
  CHECK(scene.lock->remaining() > 14min);
  CHECK(scene.paused.store->calls("release") == 0);
  CHECK(scene.fleet.stored("jobs").line.size() == 1);
  CHECK(scene.pending() == 0);
}

TEST_CASE("nobody in the process frees a late grant that is being claimed anew",
          "[waiting][R8][R9][R17]") {
  Paused scene;
  const auto other = scene.paused.lock("jobs");
  const bool by_round = GENERATE(false, true);
  bool tried = false;
  scene.paused.store->before("claim", [&, by_round] {
    tried = true;
    if (by_round) {
      scene.paused.pinger->ping_round();
    } else {
      CHECK_FALSE(other->lock_try("looks"));
    }
  });
  REQUIRE(scene.waits());
  CHECK(tried);
  CHECK(scene.lock->fence() == 3);
  CHECK(scene.paused.store->calls("release") == 0);
}

TEST_CASE("a paused waiter whose late grant was taken over waits on", "[waiting][R9][R17]") {
  Paused scene;
  int stands = 0;
  scene.paused.store->before("claim", [&] {
    scene.rival_takes_over();
    stands = scene.paused.store->calls("stand");
    scene.paused.store->after("stand", [&] { scene.rival_releases(); });
  });
  REQUIRE(scene.waits());
  CHECK(stands > 0);
  CHECK(scene.paused.store->calls("stand") > stands);
  CHECK(scene.lock->fence() == 4);
  CHECK(scene.lock->held());
}

TEST_CASE("a paused waiter gives up the late grant that it cannot claim anew",
          "[waiting][R8][R9][R17]") {
  Paused scene;
  const Fault fault = GENERATE(Fault::rejected, Fault::lost_request);
  Token late;
  scene.paused.store->before("claim", [&, fault] {
    late = *scene.fleet.stored("jobs").ts;
    scene.paused.store->fail("claim", fault);
    scene.paused.store->after("stand", [&] {
      CHECK(scene.pending() > 0);
      CHECK(scene.fleet.stored("jobs").ts == late);
      scene.paused.pinger->ping_round();
      CHECK_FALSE(scene.fleet.stored("jobs").taken());
    });
  });
  REQUIRE(scene.waits());
  REQUIRE(late != Token{});
  CHECK(scene.lock->record().ts != late);
  CHECK(scene.lock->held());
}

TEST_CASE("a paused waiter leaves a doubtful ticket pending", "[waiting][R8][R9][R18]") {
  Paused scene;
  scene.paused.store->fail("stand", Fault::delayed);
  const bool taken_over = GENERATE(false, true);
  if (taken_over) {
    scene.paused.store->before("claim", [&] {
      scene.rival_takes_over();
      scene.paused.store->after("stand", [&] { scene.rival_releases(); });
    });
  }
  REQUIRE(scene.waits());
  CHECK(scene.lock->held());
  scene.paused.pinger->ping_round();
  CHECK(scene.pending() == 1);
}

// The look of that step is due as well, since the pause was so long.
TEST_CASE("a late grant that was not claimed anew is not asked for again by its ticket",
          "[waiting][R9][R17][R18]") {
  Fleet fleet;
  const auto paused = fleet.process("paused");
  paused.store->has_line = true;
  const auto lock = paused.lock("jobs");
  const bool taken_over = GENERATE(true, false);
  Token late;
  paused.store->after("stand", [&] {
    late = *fleet.stored("jobs").ts;
    fleet.clock->advance(20min);
    if (!taken_over) return paused.store->fail("claim", Fault::lost_request);
    fleet.store->ping("rival", {});
    const Claim rival = fleet.claim_by("rival", Token{{9}});
    REQUIRE(fleet.store->claim("jobs", FromHold{late}, rival));
    REQUIRE(fleet.store->release("jobs", rival.ts) == ReleaseResult::freed);
  });
  REQUIRE(lock->try_lock_for(1h));
  REQUIRE(late != Token{});
  CHECK(lock->record().ts != late);
  paused.pinger->ping_round();
  CHECK(lock->still_held());
  CHECK(fleet.stored("jobs").taken());
}
