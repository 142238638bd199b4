// Releases that the store may lose again (R3): by a fail-over, or with the machine's power.
#include <catch2/catch.hpp>

#include "support/captured_log.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A process that has held "jobs", and freed it quickly.
struct Undoing {
  explicit Undoing(ReleaseRule rule = ReleaseRule::quick)
      : lock(a.lock("jobs", {.release_rule = rule})) {
    a.store->has_line = true;
    REQUIRE(lock->lock_try("first"));
    held = *fleet.memory.tables.raw_lock("jobs");
  }

  void release() const { REQUIRE(lock->unlock() == UnlockResult::released); }
  /// As a primary without the release becomes the primary.
  void undo() const { fleet.memory.tables.put_lock(held); }
  bool pinged() const { return fleet.memory.tables.raw_ping("a").has_value(); }

  Fleet fleet;
  Process a = fleet.process("a");
  Process b = fleet.process("b");
  std::unique_ptr<DistributedLock> lock;
  Document held;
};

}  // namespace

TEST_CASE("an unlock is quick by default, and durable where that is asked for", "[unlock][R3]") {
  const bool quick = GENERATE(true, false);
  Undoing scene(quick ? ReleaseRule::quick : ReleaseRule::durable);
  scene.release();
  CHECK(scene.a.store->calls("release") == 1);
  CHECK(scene.a.store->quick_releases == (quick ? 1 : 0));
}

TEST_CASE("an unlock whose first attempt fails is durable", "[unlock][R3][R11]") {
  Undoing scene;
  scene.a.store->fail("release", Fault::lost_reply);
  scene.release();
  CHECK(scene.a.store->calls("release") == 2);
  CHECK(scene.a.store->quick_releases == 1);
}

TEST_CASE("an unlock asks durably once more where a quick release finds no hold", "[unlock][R3]") {
  Undoing scene;
  const Document after = {{"_id", "jobs"}, {"state", 0}, {"who", std::string()}};
  scene.a.store->before("release", [&] {
    // The first meets a primary that was deposed before it had the hold.
    scene.fleet.memory.tables.put_lock(after);
    scene.a.store->before("release", [&] { scene.undo(); });
  });
  scene.release();
  CHECK(scene.a.store->calls("release") == 2);
  CHECK(scene.a.store->quick_releases == 1);
  CHECK_FALSE(scene.fleet.stored("jobs").taken());
}

TEST_CASE("an unlock of what somebody else has freed is not called released", "[unlock][R3]") {
  Undoing scene;
  scene.fleet.store->release("jobs", *scene.fleet.stored("jobs").ts);
  CHECK(scene.lock->unlock() == UnlockResult::not_ours);
  CHECK(scene.a.store->calls("release") == 2);
}

TEST_CASE("a look older than its process's own unlock warns of a stray hold only if there is one",
          "[unlock][R3][R8]") {
  const bool stray = GENERATE(false, true);
  Undoing scene;
  const auto other = scene.a.lock("jobs");
  Captured log;
  // The answer shows the hold, and is on its way while the hold ends.
  scene.a.store->before("inspect", [&] {
    scene.release();
    scene.undo();
    if (stray) return;
    scene.a.store->before(
        "release", [&] { scene.fleet.store->release("jobs", *scene.fleet.stored("jobs").ts); });
  });
  CHECK(other->lock_try("next"));
  CHECK(log.count(severity_level::warning, "its release was undone") == (stray ? 1 : 0));
}

TEST_CASE("a release that was undone is done again by the next round", "[unlock][R3][R8]") {
  Undoing scene;
  scene.release();
  scene.undo();
  const auto rival = scene.b.lock("jobs");
  CHECK_FALSE(rival->lock_try("waits"));
  scene.a.pinger->ping_round();
  REQUIRE(rival->lock_try("has it"));
  CHECK(rival->fence() == 2);
}

TEST_CASE("a process that sees its own undone release frees the lock at once", "[unlock][R3][R8]") {
  Undoing scene;
  scene.release();
  scene.undo();
  SECTION("the object that released it, whose claim from its own release finds nothing") {}
  SECTION("another object") { scene.lock = scene.a.lock("jobs"); }
  SECTION("another object, which waits in line") {
    scene.lock = scene.a.lock("jobs");
    REQUIRE(scene.lock->try_lock_for(1s));
    scene.release();
    scene.undo();
  }
  REQUIRE(scene.lock->lock_try("again"));
  CHECK(scene.lock->fence() == 2);
  CHECK(scene.a.pinger->stats().pending_releases == 0);
}

TEST_CASE("a wait frees what it was granted too late, also where that release is undone",
          "[waiting][R3][R9]") {
  Undoing scene;
  scene.release();
  const auto next = scene.a.lock("jobs");
  scene.a.store->after("stand", [&] {
    const Document late = *scene.fleet.memory.tables.raw_lock("jobs");
    scene.fleet.clock->advance(16min);
    scene.a.store->before("stand", [&, late] { scene.fleet.memory.tables.put_lock(late); });
  });
  // Its own pings keep it from everybody, and would for longer than this.
  CHECK(next->try_lock_for(20min));
}

TEST_CASE("an undone release that cannot be done again at once is pending", "[unlock][R3][R8]") {
  Undoing scene;
  scene.release();
  scene.undo();
  scene.a.store->fail("release", Fault::rejected);
  CHECK_FALSE(scene.lock->lock_try("again"));
  CHECK(scene.a.pinger->stats().pending_releases == 1);
  scene.a.pinger->ping_round();
  CHECK(scene.lock->lock_try("again"));
}

TEST_CASE("a stop frees what was undone before it takes the ping away", "[unlock][R3][R7][R12]") {
  Undoing scene;
  scene.release();
  scene.undo();
  SECTION("and leaves the ping where it cannot") {
    scene.a.store->fail("release", Fault::rejected);
    scene.a.pinger->stop();
    CHECK(scene.pinged());
    CHECK(scene.fleet.stored("jobs").taken());
  }
  SECTION("and leaves the ping where it cannot learn of it") {
    scene.a.store->fail(GENERATE("ping", "holds"), Fault::rejected);
    scene.a.pinger->stop();
    CHECK(scene.pinged());
  }
  SECTION("at best") {
    scene.a.pinger->stop();
    CHECK_FALSE(scene.pinged());
    CHECK_FALSE(scene.fleet.stored("jobs").taken());
  }
}

TEST_CASE("a stop frees what is undone just before its last ping", "[unlock][R3][R7][R12]") {
  Undoing scene;
  scene.release();
  scene.a.store->before("ping", [&] { scene.undo(); });
  scene.a.pinger->stop();
  CHECK_FALSE(scene.pinged());
  CHECK_FALSE(scene.fleet.stored("jobs").taken());
}

TEST_CASE("a stop after durable releases asks for nothing more", "[unlock][R3][R12][cost]") {
  Undoing scene(ReleaseRule::durable);
  scene.release();
  scene.a.store->forget_calls();
  scene.a.pinger->stop();
  CHECK(scene.a.store->calls() == 1);
  CHECK(scene.a.store->calls("remove_ping") == 1);
}

TEST_CASE("an unlock after a stop is durable, since no round would find it undone",
          "[unlock][R3][R12]") {
  Undoing scene;
  scene.a.pinger->stop();
  scene.release();
  CHECK(scene.a.store->quick_releases == 0);
}
