#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

#include "cli/break.h"
#include "cli/break_wait.h"
#include "cli/exit_status.h"
#include "cli/member_looks.h"
#include "cli/view.h"
#include "support/mirror_fleet.h"

// How the command judges a holder on a mirrored store, of which some members hear nothing.

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using How = Takeover::How;

/// A holder of "jobs", and an operator.
class MirroredScene {
 public:
  explicit MirroredScene(std::vector<std::size_t> away_at_claim = {}) {
    holder.pinger->ping_round();
    away(away_at_claim);
    REQUIRE(jobs->lock_try("x"));
  }

  void away(const std::vector<std::size_t>& members) {
    for (std::size_t i = 0; i < 3; ++i) {
      holder.set_away(i, std::find(members.begin(), members.end(), i) != members.end());
    }
  }
  LockView one() { return view_one(observing(), "jobs").locks.front(); }
  View all() { return view_all(observing()); }
  LockView listed() { return all().locks.front(); }
  /// The holder's ping on that member, so old by the clock that it names.
  void put_ping(std::size_t member, std::chrono::milliseconds age, const std::string& clock) {
    const OpenedMemoryStore& opened = fleet.stores[member];
    const StoreTime when = opened.store->list().now.time - age;
    opened.tables.put_ping({{"_id", std::string("holder")}, {"ping", when}, {"clock", clock}});
  }
  /// With --yes and --wait. `at_look`: what happens before each look at the holder.
  std::string broken(const std::function<void(int look)>& at_look) {
    int look = 0;
    observer.members[0]->during_each_call([&](const std::string& call) {
      if (call == "list") at_look(++look);
    });
    BreakArguments arguments;
    arguments.lock = "jobs";
    arguments.confirmed = arguments.wait = true;
    const auto start = fleet.clock->steady_now();
    CHECK(break_hold(arguments, {*observer.store, *fleet.clock, connection},
                     {.in = in, .out = out, .err = err, .in_is_terminal = false}) == kSuccess);
    waited = fleet.clock->steady_now() - start;
    return err.str();
  }

  MirrorFleet fleet;
  MirrorProcess holder = fleet.process("holder");
  MirrorProcess observer = fleet.process("observer");
  std::unique_ptr<DistributedLock> jobs = holder.lock("jobs");
  std::chrono::nanoseconds waited{};

 private:
  Observer observing() { return {*observer.store, *fleet.clock, connection, ContenderWindow{}}; }

  ConnectionString connection{"memory:"};
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
};

}  // namespace

TEST_CASE("a holder that pings a majority is shown as alive whichever member hears nothing",
          "[cli][view][mirrored][M4][M5]") {
  MirroredScene scene;
  scene.away({GENERATE(as<std::size_t>(), 0, 1, 2)});
  scene.fleet.rounds({&scene.holder}, 20min);
  REQUIRE(scene.jobs->held());
  for (const LockView& shown : {scene.one(), scene.listed()}) {
    CHECK(shown.takeover.how == How::later);
    CHECK(shown.takeover.in > 15min);
    REQUIRE(shown.ping);
    CHECK(shown.now->time - shown.ping->ping < 1min);
    CHECK(shown.ping->clock == shown.now->clock);
    CHECK(acts_at_most(shown) == shown.takeover.in);
  }
}

TEST_CASE("a holder that pings a minority alone is shown as dead when its window is over",
          "[cli][view][mirrored][M4][M5]") {
  MirroredScene scene;
  const auto reached = GENERATE(as<std::size_t>(), 0, 1, 2);
  scene.away({(reached + 1) % 3, (reached + 2) % 3});
  scene.fleet.rounds({&scene.holder}, 20min);
  REQUIRE_FALSE(scene.jobs->held());
  for (const LockView& shown : {scene.one(), scene.listed()}) {
    CHECK(shown.takeover.how == How::now);
    CHECK(acts_at_most(shown) == 0ms);
  }
  CHECK(scene.observer.lock("jobs")->lock_try("y"));
}

TEST_CASE("a list shows the ping that a majority has, whichever member hears nothing",
          "[cli][view][mirrored][M4]") {
  MirroredScene scene;
  const auto member = GENERATE(as<std::size_t>(), 0, 1, 2);
  const bool reaches_one_alone = GENERATE(false, true);
  if (reaches_one_alone) {
    scene.away({(member + 1) % 3, (member + 2) % 3});
  } else {
    scene.away({member});
  }
  scene.fleet.rounds({&scene.holder}, 20min);
  const View all = scene.all();
  REQUIRE(all.pings.size() == 1);
  const PingView& ping = all.pings.front();
  REQUIRE(ping.now);
  CHECK((ping.now->time - ping.record->ping > 15min) == reaches_one_alone);
  CHECK(ping.record->clock == ping.now->clock);
}

TEST_CASE("a ping by an earlier clock of its member counts as the oldest in a list",
          "[cli][view][mirrored][R4][M4]") {
  MirroredScene scene;
  scene.put_ping(0, 0s, "of before");
  scene.put_ping(1, 40s, "memory");
  scene.put_ping(2, 50s, "memory");
  const View all = scene.all();
  REQUIRE(all.pings.size() == 1);
  const PingView& ping = all.pings.front();
  REQUIRE(ping.now);
  CHECK(ping.now->time - ping.record->ping == 50s);
  CHECK(ping.record->clock == ping.now->clock);
}

TEST_CASE("a list of a mirrored store is one look at all locks, beside that at the members",
          "[cli][view][mirrored][M8]") {
  MirroredScene scene;
  int lists = 0;
  scene.observer.members[0]->during_each_call([&](const std::string& call) {
    if (call == "list") ++lists;
  });
  scene.observer.store->members()->states();
  const int at_members = std::exchange(lists, 0);
  CHECK(scene.listed().takeover.how == How::later);
  CHECK(lists == at_members + 1);
}

TEST_CASE("a member that does not carry a hold says nothing about the end of its holder",
          "[cli][break][mirrored][M5]") {
  MirroredScene scene({2});
  scene.away({1, 2});
  scene.fleet.rounds({&scene.holder}, 20min);
  const LockView shown = scene.one();
  CHECK(shown.takeover.how == How::now);
  REQUIRE(acts_at_most(shown));
  CHECK(*acts_at_most(shown) > 15min);
}

TEST_CASE("a holder that pings one member alone has not noticed that its hold was broken",
          "[cli][break][mirrored][M5][R9]") {
  MirroredScene scene;
  const auto reached = GENERATE(as<std::size_t>(), 0, 1, 2);
  scene.away({(reached + 1) % 3, (reached + 2) % 3});
  const std::string said = scene.broken([&](int look) {
    if (look % 10 == 1) scene.holder.pinger->ping_round();
  });
  CHECK_THAT(said, Catch::Contains("silent for its window"));
  CHECK(scene.waited >= 15min);
}

TEST_CASE("a holder of a broken hold is not silent as long as it pings a majority",
          "[cli][break][mirrored][M5][R9]") {
  MirroredScene scene;
  scene.away({GENERATE(as<std::size_t>(), 0, 1, 2)});
  const std::string said = scene.broken([&](int look) {
    if (look % 300 == 1) scene.holder.pinger->ping_round();
  });
  CHECK_THAT(said, Catch::Contains("its holder has noticed"));
  CHECK(scene.waited > 50min);
}

TEST_CASE("a member that a broken hold came back to does not say that its holder has noticed",
          "[cli][break][mirrored][M5]") {
  MirroredScene scene;
  scene.away({0});
  scene.observer.set_away(2, true);
  const std::string said = scene.broken([&](int look) {
    if (look == 2) scene.observer.set_away(2, false);  // The first is from before the break.
    if (look % 10 == 1) scene.holder.pinger->ping_round();
  });
  CHECK_THAT(said, Catch::Contains("its holder has noticed"));
  CHECK_FALSE(scene.jobs->held());
  CHECK(scene.waited >= 15min);
}

TEST_CASE("a list judges a hold that is over as a status does", "[cli][view][mirrored][M4]") {
  MirroredScene scene;
  const Token old = *scene.jobs->record().ts;
  // A rival's claim of the first member is on its way, and that of the third one was freed.
  for (const std::size_t i : {1, 2}) {
    Store& store = *scene.fleet.stores[i].store;
    store.ping("rival");
    REQUIRE(store.release("jobs", old) == ReleaseResult::freed);
    Claim claim{.process = "rival", .who = "rival:1", .why = "y", .ts = Token{{9}}};
    claim.cutoff = store.list().now;
    claim.cutoff.time += 1s;
    REQUIRE(store.claim("jobs", FromFree{old}, claim));
    if (i == 2) REQUIRE(store.release("jobs", claim.ts) == ReleaseResult::freed);
  }
  CHECK(scene.one().takeover.how == How::now);
  CHECK(scene.listed().takeover.how == How::now);
}

TEST_CASE("a member on which a holder has to be watched is had when the window is over",
          "[cli][view][mirrored][M4]") {
  const auto on = [](How how, std::chrono::milliseconds in) {
    return OnMember{.seen = {}, .takeover = {.how = how, .window = 60s, .in = in}};
  };
  const auto last = deciding({on(How::later, 5s), on(How::by_watching, 0s), on(How::never, 0s)}, 2);
  REQUIRE(last);
  CHECK(last->takeover.how == How::by_watching);
}
