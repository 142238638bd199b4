// Schedules that once broke the code. Each names the rule.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <csignal>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "protocol.h"
#include "stores/memory_store.h"
#include "support/fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using distlock::testing::Fault;
using distlock::testing::FaultyStore;
using distlock::testing::Fleet;
using distlock::testing::ManualClock;
using distlock::testing::Process;
using std::chrono::milliseconds;

namespace {

/// Runs something between the effect of a claim and its reply.
class LateReply : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    auto got = FaultyStore::claim(name, basis, claim);
    if (const auto action = std::exchange(after_claim, {})) action();
    return got;
  }
  std::function<void()> after_claim;
};

/// A store whose clock can be stepped, as a server's wall clock can: not steady.
class SteppingStore : public FaultyStore {
 public:
  SteppingStore(std::shared_ptr<Store> inner, std::shared_ptr<milliseconds> off)
      : FaultyStore(std::move(inner)), off_(std::move(off)) {}
  Inspection inspect(std::string_view name, Freshness freshness) override {
    Inspection seen = FaultyStore::inspect(name, freshness);
    seen.now->time += *off_;
    seen.now->steady = false;
    if (seen.ping) {
      // The inner store keeps what its own clock stamped; the offset at the stamp is kept here.
      const auto found = stamped().find(seen.ping->process);
      if (found != stamped().end()) seen.ping->ping += found->second;
    }
    return seen;
  }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    Claim shifted = claim;
    shifted.cutoff.time -= *off_;
    return FaultyStore::claim(name, basis, shifted);
  }
  PingRecord ping(std::string_view process) override {
    PingRecord ping = FaultyStore::ping(process);
    stamped()[std::string(process)] = *off_;
    ping.ping += *off_;
    return ping;
  }

 private:
  static std::map<std::string, milliseconds>& stamped() {
    static std::map<std::string, milliseconds> offsets;
    return offsets;
  }
  std::shared_ptr<milliseconds> off_;
};

template <class Faulty>
struct ProcessOf {
  std::shared_ptr<Faulty> store;
  std::shared_ptr<DistributedLockPinger> pinger;
  std::unique_ptr<DistributedLock> lock(const std::string& name,
                                        const LockOptions& options = {}) const {
    return std::make_unique<DistributedLock>(pinger, name, options);
  }
};

template <class Faulty>
ProcessOf<Faulty> process_on(std::shared_ptr<Faulty> store, std::shared_ptr<Clock> clock,
                             const std::string& name) {
  auto random = [state = std::hash<std::string>{}(name)]() mutable {
    return state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  };
  return {store, std::make_shared<DistributedLockPinger>(
                     Environment{.store = store, .clock = clock, .process = name, .random = random},
                     PingerOptions{}, PingerDrive::caller)};
}

}  // namespace

// 1. Paused between the claim's effect and its reply; the pinger's thread is the first to run
// again.
TEST_CASE("a ping after a pause does not give a claim a deadline that it never had",
          "[regression][R1][R9]") {
  Fleet fleet;
  const auto a = process_on(std::make_shared<LateReply>(fleet.store), fleet.clock, "a");
  const auto b = fleet.process("b");
  const auto paused = a.lock("balancer");
  const auto rival = b.lock("balancer");
  a.store->after_claim = [&] {
    fleet.clock->advance(16min);           // the whole process is stopped
    REQUIRE(rival->lock_try("takeover"));  // lawfully: the last ping is 16 min old
    a.pinger->ping_round();                // continued: the ping thread first
  };
  const bool got = paused->lock_try("x");
  CHECK(rival->held());
  CHECK_FALSE((got && paused->held()));
  CHECK(fleet.stored("balancer").process == "b");
}

// The same at a read-back. No contender can have won at 15:40 unless the store's clock stepped by
// 20 s, which R5 lets pass and R9's allowance is for: the deadline is final all the same.
TEST_CASE("a ping during a read-back does not revive the claim", "[regression][R1][R8][R9]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  a.pinger->ping_round();
  a.store->fail("claim", Fault::lost_reply);
  a.store->before("inspect", [&] {
    a.store->before("inspect", [&] {  // the read-back
      fleet.clock->advance(15min + 40s);
      a.pinger->ping_round();
    });
  });
  const bool got = lock->lock_try("x");
  CHECK_FALSE((got && lock->held() && lock->fence() == 1));
}

// 2. A guard of a thread whose hold ran out, at the end of its scope.
TEST_CASE("until a thread has unlocked a hold that ran out, the others find it busy",
          "[regression][R3]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  bool next_got = false;
  {
    const std::lock_guard guard(*lock);
    fleet.clock->advance(15min + 40s);  // its deadline has passed, nobody took over
    a.pinger->ping_round();
    boost::thread([&] { next_got = lock->lock_try("next"); }).join();
    CHECK_FALSE(next_got);
    CHECK(fleet.stored("balancer").taken());
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("a dist_lock_try that lost its hold does not free a later one", "[regression][R3]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  auto first = std::make_unique<dist_lock_try>(lock.get(), "first");
  REQUIRE(first->got());
  fleet.clock->advance(15min + 40s);
  a.pinger->ping_round();
  dist_lock_try second(lock.get(), "second");
  REQUIRE(second.got());
  first.reset();
  CHECK(lock->held());
  CHECK(fleet.stored("balancer").taken());
}

// 3. One pending release that the store always refuses stands in front of all the others.
TEST_CASE("a pending release that cannot be done does not hold up the others",
          "[regression][R8][R11]") {
  Fleet fleet;
  const auto opened = open_memory_store(fleet.clock, {});
  fleet.store = opened.store;
  const auto a = fleet.process("a");
  const auto one = a.lock("one");
  const auto two = a.lock("two");
  REQUIRE(one->lock_try("x"));
  REQUIRE(two->lock_try("x"));
  a.store->fail("release", Fault::rejected, 6);
  REQUIRE(one->unlock() == UnlockResult::pending);
  REQUIRE(two->unlock() == UnlockResult::pending);
  Document bad = *opened.tables.raw_lock("one");
  for (auto& [field, value] : bad) {
    if (field == "state") value = std::int32_t{7};
  }
  opened.tables.put_lock(bad);
  for (int i = 0; i < 10; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(fleet.stored("two").taken());
}

TEST_CASE("unlock does not wait where the answer is an error that stays", "[regression][R11]") {
  Fleet fleet;
  const auto opened = open_memory_store(fleet.clock, {});
  fleet.store = opened.store;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  Document bad = *opened.tables.raw_lock("balancer");
  for (auto& [field, value] : bad) {
    if (field == "state") value = std::int32_t{7};
  }
  opened.tables.put_lock(bad);
  static_cast<void>(lock->unlock());
  CHECK(fleet.clock->waited() == 0s);
}

// 4. A claim that was applied, and an exception that is no Error.
TEST_CASE("a claim that ends in another exception is freed later", "[regression][R8]") {
  Fleet fleet;
  const auto a = process_on(std::make_shared<LateReply>(fleet.store), fleet.clock, "a");
  const auto lock = a.lock("balancer");

  SECTION("of the claim itself") {
    a.store->after_claim = [] { throw std::bad_alloc(); };
  }
  SECTION("of its read-back") {
    REQUIRE(lock->lock_try("so that there is a ping and a document"));
    REQUIRE(lock->unlock() == UnlockResult::released);
    a.store->fail("claim", Fault::lost_reply);
    a.store->before("inspect", [] { throw std::bad_alloc(); });
  }

  CHECK_THROWS(lock->lock_try("x"));
  CHECK_FALSE(lock->held());
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

TEST_CASE("an interrupted thread does not forget its claim", "[regression][R8]") {
  const auto inner = make_memory_store();
  const auto store = std::make_shared<FaultyStore>(inner);
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                              PingerOptions{.ping_every = 20ms});
  DistributedLock lock(pinger, "balancer", {.takeover_after = 1min});
  REQUIRE(lock.lock_try("x"));
  REQUIRE(lock.unlock() == UnlockResult::released);
  // The claim is delayed; the thread waits for its cutoff and is interrupted there.
  store->fail("claim", Fault::delayed);
  boost::thread claimer([&] {
    try {
      (void)lock.lock_try("y");
    } catch (...) {
    }
  });
  while (store->calls("inspect") < 2) boost::this_thread::yield();
  claimer.interrupt();
  store->deliver();
  claimer.join();
  const auto until = host_clock()->steady_now() + 15s;
  bool freed = false;
  while (!freed && !lock.held() && host_clock()->steady_now() < until) {
    freed = !inner->inspect("balancer", Freshness::fresh).lock->taken();
    boost::this_thread::yield();
  }
  CHECK((freed || lock.held()));
}

// 5. R5 looks back over the contender's window, R6 judges by the holder's larger one.
TEST_CASE("a step of the clock counts for as long as the holder's window", "[regression][R1][R5]") {
  Fleet fleet;
  const auto off = std::make_shared<milliseconds>(0);
  const auto on = [&](const std::string& name) {
    return process_on(std::make_shared<SteppingStore>(fleet.store, off), fleet.clock, name);
  };
  const auto h = on("h5");
  const auto held = h.lock("balancer", {.takeover_after = 1h});
  REQUIRE(held->lock_try("x"));
  const auto b = on("b5");
  const auto contender = b.lock("balancer");  // 16 min
  REQUIRE_FALSE(contender->lock_try("y"));
  // The holder is cut off. Every wall clock of the site steps by 45 min, the contender's too.
  *off = 45min;
  fleet.clock->set_wall_off(45min);
  for (int i = 0; i < 34; ++i) {
    fleet.clock->advance(30s);
    b.pinger->ping_round();
    REQUIRE_FALSE((contender->lock_try("y") && held->held()));
  }
  REQUIRE(held->held());
}

TEST_CASE("a step that a new contender cannot see is within the allowance",
          "[regression][R1][R5][R9]") {
  Fleet fleet;
  const auto off = std::make_shared<milliseconds>(0);
  const auto on = [&](const std::string& name) {
    return process_on(std::make_shared<SteppingStore>(fleet.store, off), fleet.clock, name);
  };
  const auto h = on("h6");
  const auto held = h.lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = on("b6");
  const auto contender = b.lock("balancer");  // tolerates 30 s
  *off = 60s;
  fleet.clock->set_wall_off(30s);
  fleet.clock->advance(16min - 60s);
  const bool got = contender->lock_try("y");
  CHECK_FALSE((got && held->held()));
}

// 6. The server was suspended together with its clock; the claim lay in its socket.
TEST_CASE("a delayed claim is waited for by the clock that cuts it off", "[regression][R8]") {
  const auto local = std::make_shared<ManualClock>();
  const auto servers = std::make_shared<ManualClock>();
  const auto inner = make_memory_store(servers);
  const auto a = process_on(std::make_shared<FaultyStore>(inner), local, "a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->fail("claim", Fault::delayed);
  a.store->fail("inspect", Fault::rejected, 2);
  CHECK_THROWS_AS(lock->lock_try("y"), Error);
  local->advance(20min);   // the server's clock stood still
  a.pinger->ping_round();  // by another connection, served first: "not ours"
  a.store->deliver();      // its clock says that the cutoff has not passed
  for (int i = 0; i < 100; ++i) {
    local->advance(30s);
    servers->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(inner->inspect("balancer", Freshness::fresh).lock->taken());
}

// Seen on mongod 6.0.5: $$NOW is taken before the write waits for its turn. A claim that began in
// time under an fsync lock was applied 2 s after reads had shown a clock past its cutoff.
TEST_CASE("a claim that began before its cutoff may be applied after it", "[regression][R8]") {
  // The server has compared the cutoff already when it gets stuck.
  class StuckStore : public FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                    const Claim& claim) override {
      if (!std::exchange(stick, false)) return FaultyStore::claim(name, basis, claim);
      Claim judged = claim;
      judged.cutoff.time += 1h;
      apply = [=, this, name = std::string(name)] {
        (void)FaultyStore::claim(name, basis, judged);
      };
      throw Error(Errc::outcome_unknown, "the connection was lost");
    }
    bool stick = false;
    std::function<void()> apply;
  };
  Fleet fleet;
  const auto a = process_on(std::make_shared<StuckStore>(fleet.store), fleet.clock, "a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->stick = true;
  REQUIRE(lock->lock_try("y"));  // read back, past the cutoff, not there: claimed anew
  REQUIRE(lock->unlock() == UnlockResult::released);
  a.store->apply();
  for (int i = 0; i < 100; ++i) {
    fleet.clock->advance(30s);
    a.pinger->ping_round();
  }
  CHECK_FALSE(fleet.stored("balancer").taken());
}

// 7. What a document can do.
TEST_CASE("no stored takeover_after makes a waiter spin", "[regression][R15]") {
  const LockOptions options;
  for (const std::int64_t stored : {std::numeric_limits<std::int64_t>::max(),
                                    std::int64_t{9223372036855}, std::int64_t{9223372036854 * 3}}) {
    const auto pause = protocol::poll_pause(9, 12345, milliseconds{stored}, options);
    CHECK(pause >= options.poll_max / 2);
    CHECK(pause <= options.poll_max);
  }
}

TEST_CASE("a document's takeover_after does not make lock() hammer the store",
          "[regression][R15]") {
  Fleet fleet;
  const auto opened = open_memory_store(fleet.clock, {});
  fleet.store = opened.store;
  const auto a = fleet.process("a");
  const auto held = a.lock("balancer");
  REQUIRE(held->lock_try("x"));
  Document bad = *opened.tables.raw_lock("balancer");
  for (auto& [field, value] : bad) {
    if (field == "takeover_after") value = std::int64_t{9223372036855};  // 292 years
  }
  opened.tables.put_lock(bad);
  const auto b = fleet.process("b");
  const auto waiter = b.lock("balancer");
  std::stop_source stop;
  int looks = 0;
  std::function<void()> count = [&] {
    if (++looks == 200) stop.request_stop();
    b.store->before("inspect", count);
  };
  b.store->before("inspect", count);
  CHECK_FALSE(waiter->try_lock_for(5s, stop.get_token()));
  CHECK(looks <= 20);
}

TEST_CASE("a fence that cannot grow is an error and not a lock that nobody gets",
          "[regression][R10][R14]") {
  Fleet fleet;
  const auto opened = open_memory_store(fleet.clock, {});
  fleet.store = opened.store;
  opened.tables.put_lock({{"_id", std::string("balancer")},
                          {"state", std::int32_t{0}},
                          {"who", std::string()},
                          {"fence", std::numeric_limits<std::int64_t>::max()}});
  const auto lock = fleet.process("a").lock("balancer");
  CHECK_THROWS_AS(lock->lock_try("x"), Error);
}

// 8. Options that overflow.
TEST_CASE("options beyond all sense are refused", "[regression][R9][input]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  CHECK_THROWS_AS(a.lock("x", {.max_clock_skew = milliseconds::max()}), Error);
  // Wraps round to a negative allowance: a deadline after the takeover.
  CHECK_THROWS_AS(a.lock("x", {.max_clock_skew = milliseconds{9223372036855}}), Error);

  // "For ever" is what anybody would write for patience.
  const auto b = fleet.process("b");
  b.store->fail("inspect", Fault::rejected, 5);
  const auto patient = b.lock("y", {.store_patience = milliseconds::max()});
  CHECK_NOTHROW(patient->lock());
}

TEST_CASE("a deadline in the distant past is no wait", "[regression][R15]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto waiter = fleet.process("b").lock("balancer");
  CHECK_FALSE(waiter->try_lock_until(std::chrono::system_clock::time_point::min()));
  CHECK(fleet.clock->waited() == 0s);
}

// 9. Stop.
TEST_CASE("after a stop no call reaches the store", "[regression][R12]") {
  Fleet fleet;
  const auto held = fleet.process("a").lock("balancer");
  REQUIRE(held->lock_try("x"));
  const auto b = fleet.process("b");
  const auto lock = b.lock("balancer");
  b.pinger->ping_round();

  SECTION("of lock_try()") {
    b.pinger->stop();
    b.store->forget_calls();
    CHECK_THROWS_AS(lock->lock_try("x"), Error);
  }
  SECTION("of a wait") {
    b.store->before("inspect", [&] {
      b.pinger->stop();
      b.store->forget_calls();
    });
    CHECK_THROWS_AS(lock->try_lock_for(60s), Error);
  }
  SECTION("of a round") {
    b.pinger->stop();
    b.store->forget_calls();
    b.pinger->ping_round();
    CHECK(fleet.store->list().pings.size() == 1);
  }

  CHECK(b.store->calls() == 0);
}

TEST_CASE("every stop() returns when no call is under way any more", "[regression][R12]") {
  const auto store = std::make_shared<FaultyStore>(make_memory_store());
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  std::atomic<bool> removing{false};
  std::atomic<bool> removed{false};
  std::atomic<bool> go_on{false};
  DistributedLock lock(pinger, "balancer");
  REQUIRE(lock.lock_try("x"));
  REQUIRE(lock.unlock() == UnlockResult::released);
  store->before("remove_ping", [&] {
    removing = true;
    while (!go_on) boost::this_thread::yield();
    removed = true;
  });
  boost::thread first([&] { pinger->stop(); });
  while (!removing) boost::this_thread::yield();
  bool was_removed = false;
  boost::thread second([&] {
    pinger->stop();
    was_removed = removed;
  });
  // A second stop() that waits cannot end before this.
  second.try_join_for(boost::chrono::milliseconds(200));
  go_on = true;
  second.join();
  first.join();
  CHECK(was_removed);
}

// 10. Two callers of ping_round(): "all functions may be called from any thread" (run under TSan).
TEST_CASE("rounds of two threads do not race", "[regression][R12][tsan]") {
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = make_memory_store()},
      PingerOptions{.ping_every = 1ms, .forget_every = 1ms});
  for (int i = 0; i < 200; ++i) {
    pinger->ping_round();
    boost::this_thread::yield();
  }
}

// 11. noexcept. In a child, since a failure ends the process.
namespace {

int status_of_child(const std::function<void()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, SIG_DFL);
    std::set_terminate([] { _exit(99); });
    action();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("unlock() survives any exception of a store", "[regression][R11]") {
  CHECK(status_of_child([] {
          Fleet fleet;
          const auto a = fleet.process("a");
          const auto lock = a.lock("balancer");
          if (!lock->lock_try("x")) _exit(1);
          a.store->before("release", [] { throw std::bad_alloc(); });
          lock->unlock();
        }) == 0);
}

TEST_CASE("unlock() of an interrupted thread does not end the program", "[regression][R11]") {
  CHECK(status_of_child([] {
          const auto store = std::make_shared<FaultyStore>(make_memory_store());
          const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
          DistributedLock lock(pinger, "balancer");
          if (!lock.lock_try("x")) _exit(1);
          store->fail("release", Fault::rejected, 1);
          boost::thread worker([&] { lock.unlock(); });
          worker.interrupt();
          worker.join();
        }) == 0);
}

TEST_CASE("the last lock of an interrupted thread does not end the program", "[regression][R12]") {
  CHECK(status_of_child([] {
          boost::thread worker([] {
            DistributedLock lock(
                std::make_shared<DistributedLockPinger>(Environment{.store = make_memory_store()}),
                "balancer");
            if (!lock.lock_try("x")) _exit(1);
            while (!boost::this_thread::interruption_requested()) boost::this_thread::yield();
          });
          worker.interrupt();
          worker.join();
        }) == 0);
}

TEST_CASE("a round survives any exception of a store", "[regression][R12]") {
  CHECK(status_of_child([] {
          Fleet fleet;
          const auto a = fleet.process("a");
          a.store->before("ping", [] { throw 7; });
          a.pinger->ping_round();
        }) == 0);
}

// 12. A lost request, then a takeover, is not "released".
TEST_CASE("an unlock that nobody applied is not called released", "[regression][R8][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  const auto rival = fleet.process("b").lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::lost_request);
  a.store->before("release", [&] {
    a.store->before("release", [&] {
      fleet.clock->advance(16min);
      REQUIRE(rival->lock_try("takeover"));
    });
  });
  CHECK(lock->unlock() != UnlockResult::released);
}

// 13. The pinger works off all that is pending before it pings again.
TEST_CASE("many pending releases on a slow store do not cost a living hold",
          "[regression][R9][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("balancer");
  REQUIRE(held->lock_try("x"));
  for (int i = 0; i < 250; ++i) {
    const auto lock = a.lock("lock" + std::to_string(i));
    REQUIRE(lock->lock_try("x"));
    a.store->fail("release", Fault::rejected, 3);
    REQUIRE(lock->unlock() == UnlockResult::pending);
  }
  std::function<void()> slowly = [&] {
    fleet.clock->advance(4s);  // within the limit of 10 s
    a.store->before("release", slowly);
  };
  a.store->before("release", slowly);
  REQUIRE(held->held());
  for (int i = 0; i < 40 && held->held(); ++i) {
    const SteadyTime next = a.pinger->ping_round();
    fleet.clock->wait_until(next, {});
  }
  CHECK(held->held());
  a.store->before("release", {});
}
