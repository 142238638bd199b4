#include <catch2/catch.hpp>

#include "pinger/holds.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// A hold that some members do not carry any more, because an operator freed it there (M5).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Names = std::vector<std::string>;

/// A hold on all of three members.
struct Held {
  Held() { REQUIRE(lock->lock_try("x")); }

  /// As an operator's break that reaches that member alone.
  void free_on(std::size_t member) {
    REQUIRE(fleet.stores[member].store->release("jobs", *lock->record().ts) ==
            ReleaseResult::freed);
  }
  /// Whether a rival with its own connections to all members gets the lock while it is held.
  bool both_hold_within(std::chrono::milliseconds time) {
    bool both = false;
    for (auto left = time; left > 0ms; left -= 30s) {
      fleet.rounds({&ann, &bob}, 30s);
      rival_got_it = rival_got_it || rival->lock_try("y");
      both = both || (rival->held() && lock->held());
    }
    return both;
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
  MirrorProcess bob = fleet.process("bob");
  std::unique_ptr<DistributedLock> lock = ann.lock("jobs");
  std::unique_ptr<DistributedLock> rival = bob.lock("jobs");
  bool rival_got_it = false;
};

}  // namespace

TEST_CASE("a member that an operator freed protects a hold no more", "[mirrored][M5]") {
  Held held;
  held.free_on(0);
  // The holder does not reach another member, and the rival does.
  held.ann.set_away(2, true);
  CHECK_FALSE(held.both_hold_within(40min));
  CHECK(held.rival_got_it);
  CHECK_FALSE(held.lock->held());
  CHECK(held.fleet.holders("jobs") == Names{"bob", "bob", "bob"});
}

TEST_CASE("a hold that lives by pings of too few members is looked at as any other",
          "[mirrored][M5]") {
  Held held;
  held.ann.set_away(2, true);
  for (const std::size_t member : {0, 1, 2}) held.free_on(member);
  int together = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    held.ann.members[i % 2]->fail("ping", Fault::rejected);
    together += held.both_hold_within(30s) ? 1 : 0;
  }
  CHECK(held.rival_got_it);
  CHECK(together <= 2);
  CHECK(held.lock->lost() == LossReason::freed);
}

// The member that confirms moves the deadlines, so that such a round has chores.
TEST_CASE("chores hold up no ping that too few members confirmed", "[mirrored][pinger][M5][R12]") {
  const auto interval = GENERATE(120s, 480s);
  MirrorFleet fleet;
  const auto ann = fleet.process("ann", {.ping_every = interval});
  const std::chrono::nanoseconds limit = ann.store->call_limit();
  for (const auto& member : ann.members) member->fail("release", Fault::rejected, 60);
  for (int i = 0; i < 10; ++i) {
    const auto lock = ann.lock("lock" + std::to_string(i));
    REQUIRE(lock->lock_try("x"));
    REQUIRE(lock->unlock() == UnlockResult::pending);
  }
  int pings = 0;
  int slow_calls = 0;
  for (const std::size_t member : {1, 2}) {
    ann.members[member]->during_each_call([&](const std::string& call) {
      if (call == "ping" && ++pings > 0) throw Error(Errc::not_applied, "rejected by the test");
      if (pings < 2) return;
      fleet.clock->advance(limit / 2);  // One call waits for both, one after the other.
      ++slow_calls;
      throw Error(Errc::outcome_unknown, "the member does not answer in time");
    });
  }
  const SteadyTime begun = fleet.clock->steady_now();
  const SteadyTime next = ann.pinger->ping_round();
  CHECK(slow_calls >= 2);
  CHECK(next == begun + interval / 4);
  CHECK(fleet.clock->steady_now() <= std::max(next, begun + 2 * limit));
}

TEST_CASE("a hold whose members were freed ends once too few are known to carry it",
          "[mirrored][M5]") {
  Held held;
  held.ann.set_away(2, true);
  held.fleet.rounds({&held.ann}, 10min);
  REQUIRE(held.lock->held());
  LossReason lost{};
  bool at_risk = false;
  held.lock->on_lost([&](LossReason reason) { lost = reason; });
  held.lock->on_at_risk([&](SteadyTime) { at_risk = true; });
  SECTION("when the member that does not answer protects it no more") {
    const auto until = held.lock->valid_until();
    held.free_on(0);
    held.fleet.rounds({&held.ann}, 30s);
    CHECK(held.lock->held());
    CHECK(held.lock->valid_until() < until);
    held.ann.pinger->watch_round();
    CHECK(at_risk);
    held.fleet.rounds({&held.ann}, 5min);
    CHECK_FALSE(held.lock->held());
  }
  SECTION("at once, if that one protects it no more already") {
    held.fleet.rounds({&held.ann}, 10min);
    REQUIRE(held.lock->held());
    held.free_on(1);
    held.fleet.rounds({&held.ann}, 30s);
    CHECK_FALSE(held.lock->held());
  }
  held.ann.pinger->watch_round();
  CHECK(lost == LossReason::deadline_passed);
  CHECK(held.lock->lost() == LossReason::deadline_passed);
}

TEST_CASE("a hold that one member was freed of goes on with the others", "[mirrored][M5][M9]") {
  Held held;
  held.free_on(1);
  CHECK_FALSE(held.both_hold_within(40min));
  CHECK(held.lock->held());
  CHECK_FALSE(held.rival_got_it);
  CHECK(held.fleet.holders("jobs") == Names{"ann", "", "ann"});
  CHECK(held.lock->unlock() == UnlockResult::released);
}

TEST_CASE("a list that is out of date takes no member from a hold", "[mirrored][M5][R9]") {
  // As a server that was deposed: it shows what was there before the claim.
  class Outdated : public FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    std::vector<StoredHold> holds(std::string_view process) override {
      return outdated ? std::vector<StoredHold>{} : FaultyStore::holds(process);
    }
    bool outdated = false;
  };
  MirrorFleet fleet;
  std::vector<std::shared_ptr<Store>> members;
  const auto first = std::make_shared<Outdated>(fleet.stores[0].store);
  members = {first, fleet.stores[1].store, fleet.stores[2].store};
  const auto random = [state = std::uint64_t{1}]() mutable {
    return state = state * 6364136223846793005ULL + 1;
  };
  const auto store = make_mirrored_store(members, fleet.clock, {MirrorDrive::caller, random});
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = fleet.clock, .process = "ann", .random = random},
      PingerOptions{}, PingerDrive::caller);
  DistributedLock lock(pinger, "jobs");
  REQUIRE(lock.lock_try("x"));
  first->outdated = true;
  const int claims = first->calls("claim");
  fleet.clock->advance(30s);
  pinger->ping_round();
  CHECK(lock.held());
  // Nothing is written again, as it would be to a member that protects nothing.
  CHECK(first->calls("claim") == claims);
}

TEST_CASE("a member that shows a hold again protects it once it has granted it anew",
          "[mirrored][M5][M9]") {
  Held held;
  // The lock's document alone is gone.
  held.fleet.stores[0].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::int32_t{0}}});
  held.fleet.rounds({&held.ann}, 60s);
  CHECK(held.fleet.holders("jobs") == Names{"ann", "ann", "ann"});
  held.ann.set_away(2, true);
  CHECK_FALSE(held.both_hold_within(40min));
  CHECK(held.lock->held());
}

TEST_CASE("the watch is woken when a hold's deadline comes sooner", "[mirrored][pinger][M5]") {
  constexpr SteadyTime kNow{1h};
  const Token ts{{1}};
  const Token one{{11}};
  const Token other{{12}};
  Holds holds{AnnounceOn::caller};
  const auto hold = std::make_shared<Hold>("jobs", 1min);
  holds.enlist(hold, ts);
  holds.begin_claim(*hold, {{one, {}, kNow, kNow}, {other, {}, kNow, kNow}}, 2);
  REQUIRE(holds.begin(*hold, ts, {one, other}, kNow));
  const auto due = holds.announce_due(kNow);
  CHECK(due.next == kNow + 30s);
  holds.unprotect({hold, Token{{2}}}, {one});
  CHECK_FALSE(due.changed.stop_requested());
  CHECK_FALSE(hold->validity.over(kNow));
  holds.unprotect({hold, ts}, {one});
  CHECK(due.changed.stop_requested());
  CHECK(hold->validity.over(kNow));
  CHECK(holds.announce_due(kNow).next == SteadyTime::max());
  CHECK(holds.lost(*hold) == LossReason::deadline_passed);
}

TEST_CASE("of all that an object claimed only the hold that it has does not count as given up",
          "[mirrored][pinger][M2]") {
  constexpr SteadyTime kNow{1h};
  Holds holds{AnnounceOn::caller};
  const auto hold = std::make_shared<Hold>("jobs", 1min);
  const auto grant = [&](const Token& ts, SteadyTime at) {
    holds.enlist(hold, ts);
    hold->claim_validity.begin(kNow);
    return holds.begin(*hold, ts, {}, at);
  };
  REQUIRE(grant(Token{{1}}, kNow));
  CHECK_FALSE(holds.gave_up(Token{{1}}));
  REQUIRE(grant(Token{{2}}, kNow));  // Claimed anew from its own hold.
  CHECK(holds.gave_up(Token{{1}}));
  CHECK_FALSE(grant(Token{{3}}, kNow + 2min));
  holds.delist(hold);
  for (const std::uint8_t number : {1, 2, 3}) CHECK(holds.gave_up(Token{{number}}));
  CHECK_FALSE(holds.gave_up(Token{{4}}));
  CHECK_FALSE(holds.gave_up(Token{}));
  // Another object has it by now.
  holds.enlist(std::make_shared<Hold>("jobs", 1min), Token{{1}});
  CHECK_FALSE(holds.gave_up(Token{{1}}));
}

TEST_CASE("a member's holder that only an old copy shows as dead is left alone",
          "[mirrored][M1][R6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  REQUIRE(ann.lock("jobs")->lock_try("makes the documents"));
  ann.pinger->ping_round();
  Store& third = *fleet.stores[2].store;
  const StoreNow now = third.list().now;
  const Claim dead{.process = "dead",
                   .who = "dead:1",
                   .why = "work",
                   .ts = Token{{9}},
                   .takeover_after = 16min,
                   .cutoff = {now.time + 1h, now.clock}};
  const auto free = third.inspect("jobs", Freshness::fresh).lock;
  REQUIRE(third.claim("jobs", FromFree{free->ts}, dead));
  third.ping("dead", {});
  const auto bob = fleet.process("bob");
  for (const auto& member : bob.members) member->always_fresh = false;
  const auto lock = bob.lock("jobs");
  fleet.clock->advance(17min);
  bob.pinger->ping_round();
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == Names{"bob", "bob", "dead"});
}

// Eve comes first on the second member.
TEST_CASE("a claim that a member refuses is refused, though another one fails", "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{2}}};
  claim.takeover_after = std::chrono::minutes{16};
  claim.cutoff = ann.store->list().now;
  claim.cutoff.time += ann.store->call_limit();
  ann.members[1]->before("claim", [&] { fleet.put_taken(1, Token{{9}}); });
  ann.members[2]->fail("claim", Fault::rejected);
  bool got = true;
  CHECK_FALSE(
      thrown_by([&] { return got = ann.store->claim("jobs", FromAbsent{}, claim).has_value(); }));
  CHECK_FALSE(got);
  CHECK(fleet.holders("jobs") == Names{"", "eve", ""});
}

TEST_CASE("a process frees its own released hold also while a member is away",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  bob.pinger->ping_round();
  ann.set_away(0, true);
  REQUIRE(lock->unlock() == UnlockResult::released);
  ann.set_away(0, false);
  ann.set_away(2, true);
  bob.set_away(2, true);
  SECTION("in its rounds") {
    fleet.rounds({&ann, &bob}, 90s);
    CHECK(fleet.holders("jobs")[0].empty());
    CHECK(bob.lock("jobs")->lock_try("y"));
  }
  SECTION("when it claims anew") { CHECK(ann.lock("jobs")->lock_try("y")); }
}
