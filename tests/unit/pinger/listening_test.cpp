// From when on, and for how long, a process listens to its store's bell (R19, R20).
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "pinger/session.h"
#include "support/faulty_store.h"
#include "support/fleet.h"
#include "support/manual_clock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A store whose bell may be out of order, and that counts who listens.
class Belfry : public FaultyStore {
 public:
  Belfry() : FaultyStore(make_memory_store(std::make_shared<ManualClock>())) { has_line = true; }

  bool silent = false;
  int asked = 0;
  std::function<void()> at_end = [] {};
  std::weak_ptr<void> listener;
  distlock::Line::Rung bell;

 private:
  std::shared_ptr<void> listen(std::string_view, distlock::Line::Rung rung) override {
    ++asked;
    if (silent) throw Error(Errc::not_applied, "no bell");
    bell = std::move(rung);
    const std::shared_ptr<void> listening(this, [](Belfry* belfry) { belfry->at_end(); });
    listener = listening;
    return listening;
  }
};

/// A process that waits now and then for a lock that another one holds.
struct Waiting {
  Waiting() {
    fleet.store = store;
    REQUIRE(held->lock_try("x"));
  }
  void wait() { CHECK_FALSE(a.lock("jobs")->try_lock_for(1s)); }
  void round_after(std::chrono::nanoseconds time) {
    fleet.clock->advance(time);
    a.pinger->ping_round();
    a.pinger->ring_round();
  }
  bool listens() const { return !store->listener.expired(); }

  Fleet fleet;
  std::shared_ptr<Belfry> store = std::make_shared<Belfry>();
  ProcessWith<Belfry> a = fleet.process_with(store, "a");
  std::unique_ptr<DistributedLock> held = a.lock("jobs");
};

}  // namespace

TEST_CASE("a process listens to the store's bell from its first wait on, once", "[waiting][R19]") {
  const auto store = std::make_shared<Belfry>();
  auto lobby = std::make_unique<Lobby>(store, "a");
  CHECK(store->asked == 0);
  std::optional<Lobby::Place> place(std::in_place, *lobby, "jobs");
  const Lobby::Place another(*lobby, "other");
  CHECK(store->asked == 1);
  const std::stop_token woken = place->wake().arm();
  const std::stop_token not_woken = another.wake().arm();
  store->bell("jobs");
  CHECK(woken.stop_requested());
  CHECK_FALSE(not_woken.stop_requested());
  lobby->close();
  CHECK(store->listener.expired());
  const Lobby::Place late(*lobby, "jobs");
  CHECK(store->asked == 1);
}

TEST_CASE("a bell that cannot be heard is tried again at the next wait", "[waiting][R19]") {
  const auto store = std::make_shared<Belfry>();
  Lobby lobby(store, "a");
  store->silent = true;
  const Lobby::Place first(lobby, "jobs");
  store->silent = false;
  const Lobby::Place second(lobby, "jobs");
  CHECK(store->asked == 2);
  CHECK_FALSE(store->listener.expired());
}

TEST_CASE("a pinger that was stopped listens to no bell", "[waiting][R12][R19]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto store = std::make_shared<Belfry>();
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = clock, .process = "a"}, PingerOptions{},
      PingerDrive::caller);
  DistributedLock held(pinger, "jobs");
  REQUIRE(held.lock_try("x"));
  CHECK_FALSE(DistributedLock(pinger, "jobs").try_lock_for(1s));
  REQUIRE_FALSE(store->listener.expired());
  pinger->stop();
  CHECK(store->listener.expired());
}

// The end of a bell may take a whole call, as on a server that hangs.
TEST_CASE("a stop ends its bell after the farewell, and after the last ring",
          "[waiting][R12][R19]") {
  Fleet fleet;
  const auto store = std::make_shared<Belfry>();
  fleet.store = store;
  const auto a = fleet.process_with(store, "a");
  const auto held = a.lock("jobs");
  REQUIRE(held->lock_try("x"));
  CHECK_FALSE(a.lock("jobs")->try_lock_for(1s));
  REQUIRE_FALSE(store->listener.expired());
  for (const char* ticket : {"4d7f0000000000000000aa01", "4d7f0000000000000000aa02"})
    store->line()->stand("jobs", fleet.claim_by("b", *token_from_hex(ticket)));
  REQUIRE(held->unlock() == UnlockResult::released);
  REQUIRE(store->list().pings.size() == 1);
  std::size_t pings_at_the_end = 1;
  int calls_at_the_end = 0;
  store->at_end = [&] {
    pings_at_the_end = store->list().pings.size();
    calls_at_the_end = store->calls();
  };
  const int calls_before = store->calls("inspect");
  a.pinger->stop();
  CHECK(pings_at_the_end == 0);
  CHECK(store->calls("inspect") > calls_before);
  CHECK(store->calls() == calls_at_the_end);
}

TEST_CASE("a process listens to no bell after a minute without a wait, and again at the next",
          "[waiting][R19][R20]") {
  Waiting it;
  it.wait();
  it.round_after(0s);
  it.round_after(59s);
  CHECK(it.listens());
  it.round_after(1s);
  CHECK_FALSE(it.listens());
  it.wait();
  CHECK(it.listens());
  CHECK(it.store->asked == 2);
}

TEST_CASE("a process that waits again and again keeps its bell", "[waiting][R20]") {
  Waiting it;
  for (int wait = 0; wait != 4; ++wait) {
    it.wait();
    it.round_after(50s);
  }
  it.round_after(59s);
  CHECK(it.listens());
  CHECK(it.store->asked == 1);
}

TEST_CASE("a process listens to its bell for as long as a thread waits", "[waiting][R19][R20]") {
  const auto store = std::make_shared<Belfry>();
  Lobby lobby(store, "a");
  std::optional<Lobby::Place> place(std::in_place, lobby, "jobs");
  for (const auto time : {1h, 2h, 3h}) CHECK_FALSE(lobby.quiet(SteadyTime{time}));
  place.reset();
  CHECK_FALSE(lobby.quiet(SteadyTime{3h + 59s}));
  CHECK(lobby.quiet(SteadyTime{3h + 60s}));
}

TEST_CASE("a wait that begins as listening is to end has its bell", "[waiting][R19]") {
  const auto store = std::make_shared<Belfry>();
  Lobby lobby(store, "a");
  { const Lobby::Place before(lobby, "jobs"); }
  CHECK_FALSE(lobby.quiet(SteadyTime{1h}));
  REQUIRE(lobby.quiet(SteadyTime{2h}));
  {
    const Lobby::Place place(lobby, "jobs");
    lobby.end_quiet_listening();
    CHECK_FALSE(store->listener.expired());
  }
  CHECK_FALSE(lobby.quiet(SteadyTime{2h}));
  REQUIRE(lobby.quiet(SteadyTime{3h}));
  store->at_end = [&] {
    const Lobby::Place place(lobby, "jobs");
    CHECK(store->asked == 2);
  };
  lobby.end_quiet_listening();
  store->at_end = [] {};
  CHECK_FALSE(store->listener.expired());
}

TEST_CASE("a round that finds all quiet wakes the thread that ends the bell",
          "[waiting][R12][R20]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto store = std::make_shared<Belfry>();
  Session session({.store = store, .clock = clock, .process = "a"}, {}, PingerDrive::caller);
  { const Lobby::Place place(session.lobby, "jobs"); }
  session.round();
  clock->advance(1min);
  const Ringer::Due due = session.ringer.round();
  session.round();
  CHECK(due.changed.stop_requested());
  CHECK_FALSE(store->listener.expired());
  session.lobby.end_quiet_listening();
  CHECK(store->listener.expired());
}

namespace {

/// A store that has no memory for the first who listens.
class StarvedBelfry : public FaultyStore {
 public:
  StarvedBelfry() : FaultyStore(make_memory_store(std::make_shared<ManualClock>())) {
    has_line = true;
  }

 private:
  std::shared_ptr<void> listen(std::string_view, distlock::Line::Rung) override {
    if (std::exchange(starves_, false)) throw std::bad_alloc();
    return std::make_shared<int>(0);
  }
  bool starves_ = true;
};

}  // namespace

TEST_CASE("a wait that gets no memory to listen leaves no place in the queue",
          "[waiting][R19][R20]") {
  Lobby lobby(std::make_shared<StarvedBelfry>(), "a");
  CHECK_THROWS_AS(Lobby::Place(lobby, "jobs"), std::bad_alloc);
  const Lobby::Place next(lobby, "jobs");
  CHECK(next.first());
  CHECK_FALSE(next.others_wait());
}

TEST_CASE("a process that has given its bell up has no other to give up", "[waiting][R19][R20]") {
  const auto store = std::make_shared<Belfry>();
  Lobby lobby(store, "a");
  { const Lobby::Place before(lobby, "jobs"); }
  CHECK_FALSE(lobby.quiet(SteadyTime{1h}));
  REQUIRE(lobby.quiet(SteadyTime{2h}));
  lobby.end_quiet_listening();
  REQUIRE(store->listener.expired());
  CHECK_FALSE(lobby.quiet(SteadyTime{3h}));
}
