// Waits in the command of a holder that may wait for their end (R22).
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "distlock/line.h"
#include "lock/deadlock_watch.h"
#include "protocol/deadlock.h"
#include "support/captured_log.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr char kOther[] = "other:inner";

/// Two holders, and a process in the command of the first.
struct Nested {
  Nested() {
    REQUIRE(x->lock_try("outer"));
    REQUIRE(y->lock_try("other outer"));
    fleet.outer_holds = {*x->record().ts};
    inner = fleet.process("inner");
    inner.store->has_line = true;
  }

  /// A process in the command of the second waits for the first.
  void cross() {
    Claim claim = fleet.claim_by(kOther, Token{{7}});
    claim.who += deadlock::inside({*y->record().ts});
    REQUIRE(fleet.store->line()->stand("x", claim).in_line);
  }
  /// How often the inner process warns, while it waits for two minutes.
  int warnings(const std::string& lock, const LockOptions& options = {}) {
    std::stop_source stop;
    inner.store->during_each_call([&](const std::string&) {
      if (fleet.clock->waited() > 1s && std::exchange(other_comes_later, false)) cross();
      if (other_lives) fleet.store->ping(kOther, {});
      if (fleet.clock->waited() > 2min) stop.request_stop();
    });
    CHECK_FALSE(inner.lock(lock, options)->lock(stop.get_token()));
    inner.store->during_each_call({});
    return log.count(severity_level::warning, "this wait may never end: this process waits for \"");
  }

  Captured log;
  Fleet fleet;
  std::unique_ptr<DistributedLock> x = fleet.process("outer").lock("x");
  std::unique_ptr<DistributedLock> y = fleet.process("other outer").lock("y");
  Process inner;
  bool other_lives = true;
  bool other_comes_later = false;
};

}  // namespace

TEST_CASE("a wait that may never end, since a holder's command contains it, is warned of once",
          "[deadlock][waiting][R22]") {
  Nested nested;
  SECTION("by commands that wait for each other's lock") {
    nested.cross();
    CHECK(nested.warnings("y") == 1);
    CHECK(nested.log.count(severity_level::warning,
                           "whose command contains other:inner, which waits for \"x\"") == 1);
    CHECK(nested.log.count(severity_level::warning, "whose command contains this process") == 1);
  }
  SECTION("the other waiter came later") {
    nested.other_comes_later = true;
    CHECK(nested.warnings("y") == 1);
  }
  SECTION("for the lock of its own run") { CHECK(nested.warnings("x") == 1); }
}

TEST_CASE("no wait is warned of that is in no possible cycle of living processes",
          "[deadlock][waiting][R22]") {
  Nested nested;
  SECTION("nobody waits for its run") { CHECK(nested.warnings("y") == 0); }
  SECTION("the other waiter has not pinged since it came") {
    nested.cross();
    nested.other_lives = false;
    CHECK(nested.warnings("y") == 0);
  }
  SECTION("its run has ended") {
    nested.cross();
    REQUIRE(nested.x->unlock() == UnlockResult::released);
    CHECK(nested.warnings("y") == 0);
  }
  SECTION("it is told not to look") {
    nested.cross();
    CHECK(nested.warnings("y", {.deadlock_after = 0ms}) == 0);
  }
}

TEST_CASE("a place without a deadline names the holds around its process, and no other does",
          "[deadlock][waiting][R22]") {
  Nested nested;
  std::string who;
  std::stop_source stop;
  nested.inner.store->after("stand", [&] {
    who = nested.fleet.stored("y").line.at(0).who;
    stop.request_stop();
  });
  const auto lock = nested.inner.lock("y");
  SECTION("without") {
    CHECK_FALSE(lock->lock(stop.get_token()));
    CHECK_THAT(who, Catch::EndsWith('^' + to_hex(*nested.x->record().ts)));
  }
  SECTION("with") {
    CHECK_FALSE(lock->try_lock_for(1s));
    CHECK_THAT(who, Catch::StartsWith("inner:") && !Catch::Contains("^"));
  }
}

TEST_CASE("watches of one wait warn once that it may never end", "[deadlock][R22]") {
  Captured log;
  Fleet fleet;
  REQUIRE(fleet.store->claim("z", FromAbsent{}, fleet.claim_by("run", Token{{1}})));
  Claim place = fleet.claim_by("inner", Token{{2}});
  place.who += deadlock::inside({Token{{1}}});
  REQUIRE(fleet.store->line()->stand("z", place).in_line);
  const auto nothing = [](const Token&) { return std::optional<std::string>(); };
  Overviews overviews(
      fleet.store, "inner", [] { return [](const Token&) { return false; }; }, nothing,
      [] { return std::vector<deadlock::Hidden>{}; });
  bool warned = false;
  for (int watches = 0; watches < 2; ++watches) {
    DeadlockWatch watch(overviews, 5s, fleet.clock->steady_now(), "inner", warned);
    for (int looks = 0; looks < 3; ++looks) {
      fleet.clock->advance(5s);
      static_cast<void>(watch.look(place.ts, *fleet.clock));
    }
    CHECK(log.count(severity_level::warning, "may never end") == 1);
  }
}
