// Waits on stores that are slow or fail: no call begins once the wait is over.
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <random>

#include "distlock/error.h"
#include "support/fleet.h"
#include "support/known_free.h"
#include "support/seed.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

namespace {

/// This host's clock. It does something whenever the thread that made it begins to wait.
class ActingClock : public Clock {
 public:
  SteadyTime steady_now() const override { return host_->steady_now(); }
  WallTime wall_now() const override { return host_->wall_now(); }
  bool wait_until(SteadyTime until, const std::stop_token& stop) override {
    if (boost::this_thread::get_id() == thread_ && act) act();
    return host_->wait_until(until, stop);
  }

  std::function<void()> act;

 private:
  const std::shared_ptr<Clock> host_ = host_clock();
  const boost::thread::id thread_ = boost::this_thread::get_id();
};

// When each call of a process's store began, once they take that long.
struct Slowly {
  Slowly(Fleet& fleet, const distlock::testing::Process& process, std::chrono::nanoseconds each)
      : store(*process.store) {
    store.forget_calls();
    store.during_each_call([this, &fleet, each](const std::string& call) {
      begun.emplace_back(call, fleet.clock->steady_now());
      fleet.clock->advance(each);
    });
  }
  ~Slowly() { store.during_each_call({}); }
  Slowly(const Slowly&) = delete;
  Slowly& operator=(const Slowly&) = delete;

  FaultyStore& store;
  std::vector<std::pair<std::string, SteadyTime>> begun;
};

}  // namespace

TEST_CASE("a wait claims nothing after its deadline", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  const auto stranger = a.lock("balancer");  // has to look first
  const SteadyTime begun = fleet.clock->steady_now();
  const Slowly slowly(fleet, a, 1500ms);
  CHECK_FALSE(stranger->try_lock_for(GENERATE(std::chrono::nanoseconds{100ms}, 1ns)));
  CHECK(fleet.clock->steady_now() == begun + 1500ms);
  CHECK(a.store->calls() == 1);
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a wait of nothing claims a free lock, however slow the store is", "[waiting][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const Slowly slowly(fleet, a, 1500ms);
  CHECK(lock->try_lock_for(0s));
}

TEST_CASE("a hold that nobody knows of is not freed by a wait that is over", "[waiting][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*a.lock("another"));
  REQUIRE(fleet.store->claim("balancer", FromAbsent{}, fleet.claim_by("a", Token{{9}})));
  const auto [limit, calls] =
      GENERATE(table<std::chrono::milliseconds, int>({{500ms, 1}, {1s, 2}, {1100ms, 2}}));
  CAPTURE(limit);
  const Slowly slowly(fleet, a, 600ms);
  CHECK_FALSE(lock->try_lock_for(limit));
  CHECK(a.store->calls() == calls);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a wait that has freed a hold that nobody knows of rings for nobody once it is over",
          "[waiting][R8][R15][R19]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = true;
  const auto lock = a.lock("balancer", {.wait_rule = WaitRule::polling});
  make_known_free(*a.lock("another"));
  fleet.put_stray("a", "balancer", Token{{9}});
  REQUIRE(fleet.store->line()->stand("balancer", fleet.claim_by("b", Token{{8}})).in_line);
  {
    const Slowly slowly(fleet, a, 600ms);
    CHECK_FALSE(lock->try_lock_for(1s));
    CHECK(a.store->calls() == 2);
  }
  CHECK(a.store->calls("release") == 1);
  CHECK_FALSE(fleet.stored("balancer").taken());
  a.pinger->ring_round();
  CHECK(a.store->calls("ring") == 1);
}

TEST_CASE("a claim of unknown outcome does not outlast the wait", "[waiting][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  const SteadyTime deadline = fleet.clock->steady_now() + 5s;
  a.store->fail("claim", Fault::lost_reply);
  a.store->fail("inspect", Fault::rejected);  // so that it would wait for the cutoff
  try {
    (void)lock->try_lock_for(5s);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::outcome_unknown);
  }
  CHECK(fleet.clock->steady_now() == deadline);
  CHECK_FALSE(lock->held());
  CHECK(fleet.stored("balancer").taken());
  CHECK(a.pinger->stats().pending_releases == 1);
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a wait that ends with a claim that failed is an error, and not busy",
          "[waiting][R2][R8][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  make_known_free(*a.lock("balancer"));
  const auto lock = a.lock("balancer");
  const auto wait = [&] { return lock->try_lock_for(5s); };
  SECTION("whose outcome nobody knows") {
    // Neither the claim nor what reads it back comes through before the deadline.
    a.store->before("claim", [&] {
      a.store->fail("claim", Fault::lost_request);
      a.store->fail("inspect", Fault::rejected, 100);
    });
    CHECK(thrown_by(wait) == Errc::outcome_unknown);
  }
  SECTION("as its second look back shows when the deadline has passed") {
    const auto cutoff_passes = a.store->call_limit() * 9 / 8;
    int looks = 0;
    a.store->fail("claim", Fault::lost_request);
    a.store->during_each_call([&](const std::string& call) {
      if (call == "inspect" && ++looks == 3) fleet.clock->advance(2s);
    });
    CHECK(thrown_by([&] { return lock->try_lock_for(cutoff_passes + 1s); }) ==
          Errc::outcome_unknown);
    CHECK(looks == 3);
    a.store->during_each_call({});
  }
  SECTION("as the store says when the deadline has passed") {
    a.store->fail("claim", Fault::rejected);
    a.store->before("claim", [&] { fleet.clock->advance(6s); });
    CHECK(thrown_by(wait) == Errc::not_applied);
  }
}

TEST_CASE("a wait looks once more shortly before its deadline", "[waiting][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  const SteadyTime deadline = fleet.clock->steady_now() + 5s;
  b.store->during_each_call([&](const std::string&) {
    if (fleet.clock->steady_now() >= deadline - 20ms) (void)held->unlock();
  });
  CHECK(waiter->try_lock_for(5s));
  CHECK(fleet.clock->steady_now() <= deadline);
  b.store->during_each_call({});
}

TEST_CASE("no call begins at a wait's deadline or later, whatever the store does",
          "[waiting][R8][R15]") {
  std::mt19937 random(seed_from("DISTLOCK_WAITS_SEED"));
  int got = 0;
  for (int i = 0; i < 500; ++i) {
    Fleet fleet;
    const auto a = fleet.process("a");
    const auto dead = fleet.process("b").lock("balancer");
    if (random() % 3 != 0) REQUIRE(dead->lock_try("y"));
    fleet.clock->advance(16min - std::chrono::milliseconds{random() % 60'000});
    a.store->always_fresh = random() % 2 == 0;
    a.store->has_line = random() % 2 == 0;
    const std::chrono::milliseconds each{random() % 10'000};
    const std::chrono::milliseconds limit{1 + random() % 60'000};
    const auto lock = a.lock("balancer");
    for (const std::string call : {"inspect", "claim", "ping", "stand", "leave"}) {
      const auto fault = static_cast<Fault>(random() % 3);
      a.store->fail(call, fault, static_cast<int>(random() % 4));
    }
    const Slowly slowly(fleet, a, each);
    const SteadyTime deadline = fleet.clock->steady_now() + limit;
    try {
      got += lock->try_lock_for(limit) ? 1 : 0;
    } catch (const Error&) {
    }
    CAPTURE(i, each, limit);
    CHECK(fleet.clock->steady_now() < deadline + std::max<std::chrono::nanoseconds>(each, 1ns));
    for (const auto& [call, begun] : slowly.begun) CHECK(begun < deadline);
  }
  CHECK(got > 50);
}

TEST_CASE("a wait does not await the pinger's first ping beyond its deadline", "[waiting][R15]") {
  struct Unhurried : FaultyStore {
    using FaultyStore::FaultyStore;
    std::chrono::milliseconds call_limit() const override { return 2min; }
  };
  const auto store = std::make_shared<Unhurried>(make_memory_store());
  std::promise<void> answer;
  std::atomic<bool> answered = false;
  store->before("ping", [&] {
    answer.get_future().wait_for(60s);  // So that who awaits it comes back, and fails.
    answered = true;
  });
  const auto clock = std::make_shared<ActingClock>();
  const auto pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = store, .clock = clock});
  LockOptions options;
  options.wait_rule = GENERATE(WaitRule::in_line, WaitRule::polling);
  DistributedLock lock(pinger, "balancer", options);
  SECTION("and is an error then") {
    CHECK(thrown_by([&] { return lock.try_lock_for(1s); }) == Errc::not_applied);
  }
  SECTION("nor after a stop") {
    std::stop_source stop;
    clock->act = [&] { stop.request_stop(); };
    CHECK_FALSE(lock.lock(stop.get_token()));
    CHECK(stop.stop_requested());
  }
  CHECK_FALSE(answered);
  answer.set_value();
}

TEST_CASE("a first claim awaits the first ping of the pinger, and no chore", "[waiting][R7][R15]") {
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  std::latch answer(1);
  const char* const chore = GENERATE("holds", "forget_pings");
  store->before(chore, [&] { answer.wait(); });
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock lock(pinger, "balancer");
  CHECK(lock.try_lock_for(5s));
  answer.count_down();
}

TEST_CASE("a thread is not taken for one that ended before it began", "[lock][R15][tsan]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  for (int i = 0; i < 100; ++i) {
    const auto lock = a.lock("lock" + std::to_string(i));
    bool got = false;
    boost::thread([&] { got = lock->lock_try("x"); }).join();
    REQUIRE(got);
    bool refused = false;
    boost::thread([&] {
      try {
        refused = !lock->lock_try("y");
      } catch (const Error&) {
        refused = false;
      }
    }).join();
    REQUIRE(refused);
  }
}

TEST_CASE("a wait that ends with a claim that the store did not apply says so, and not busy",
          "[waiting][R2][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.store->has_line = false;
  const auto lock = a.lock("balancer");
  make_known_free(*lock);
  const auto stranger = a.lock("balancer");
  a.store->fail("claim", Fault::lost_request);
  // The look that shows the claim gone outlasts the wait.
  a.store->after("claim", [&] { a.store->before("inspect", [&] { fleet.clock->advance(1h); }); });
  LockRecord other;
  CHECK(thrown_by([&] { (void)stranger->try_lock_for(5s, {}, "x", &other); }) ==
        Errc::outcome_unknown);
}
