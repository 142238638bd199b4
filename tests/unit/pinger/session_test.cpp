// One pinger: its threads, its strays, and what it knows of clocks.
#include "pinger/session.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <set>

#include "distlock/members.h"
#include "support/captured_log.h"
#include "support/forked_child.h"
#include "support/leave.h"
#include "support/mirror_fleet.h"
#include "support/server_fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A clock on which each wait lasts until it is stopped, and that counts those who wait.
class RestingClock : public ManualClock {
 public:
  bool wait_until(SteadyTime, const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    ++resting_;
    changed_.notify_all();
    const std::stop_callback wakes(stop, [&] { changed_.notify_all(); });
    changed_.wait(lock, [&] { return stop.stop_requested(); });
    --resting_;
    return false;
  }
  /// The test's time-out is the bound.
  void await_rest_of(int threads) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return resting_ == threads; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int resting_ = 0;
};

/// A mirrored store on which something happens after the next look at the pings of its members, or
/// in the middle of the next repair.
class MeanwhileOnMembers : public Store, private Members {
 public:
  explicit MeanwhileOnMembers(std::shared_ptr<Store> given) : inner(std::move(given)) {}
  std::chrono::milliseconds call_limit() const override { return inner->call_limit(); }
  Inspection inspect(std::string_view n, Freshness f) override { return inner->inspect(n, f); }
  std::optional<Carried> carried(std::string_view n) override { return inner->carried(n); }
  std::optional<LockRecord> claim(std::string_view n, const ClaimBasis& b,
                                  const Claim& c) override {
    return inner->claim(n, b, c);
  }
  ReleaseResult release(std::string_view n, const Token& ts) override {
    return inner->release(n, ts);
  }
  PingRecord ping(std::string_view p, const PingHealth& h) override { return inner->ping(p, h); }
  void remove_ping(std::string_view p) override { inner->remove_ping(p); }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    return inner->forget_pings(age);
  }
  std::vector<StoredHold> holds(std::string_view p) override { return inner->holds(p); }
  Listing list() override { return inner->list(); }
  Members* members() override { return this; }

  std::shared_ptr<Store> inner;
  std::function<void()> after_pings;
  std::function<void()> before_repair;

 private:
  std::size_t majority() const override { return inner->members()->majority(); }
  bool take_left(const Token& ts) override { return inner->members()->take_left(ts); }
  std::vector<MemberPing> pings(std::string_view p) override {
    auto read = inner->members()->pings(p);
    if (const auto meanwhile = std::exchange(after_pings, {})) meanwhile();
    return read;
  }
  std::optional<LockRecord> claim_from(std::string_view n, const std::vector<MemberBasis>& b,
                                       const Claim& c) override {
    return inner->members()->claim_from(n, b, c);
  }
  std::vector<Token> repair(std::string_view n, const std::vector<MemberBasis>& b, const Claim& c,
                            const std::function<bool()>& still) override {
    if (const auto meanwhile = std::exchange(before_repair, {})) meanwhile();
    return inner->members()->repair(n, b, c, still);
  }
  MemberListings listings() override { return inner->members()->listings(); }
  std::vector<MemberState> states() override { return inner->members()->states(); }
  bool incomplete() override { return inner->members()->incomplete(); }
  void mend() override { inner->members()->mend(); }
  bool readmit(std::size_t n) override { return inner->members()->readmit(n); }
};

/// A process whose pings come between the statements of its other threads.
struct PingsMeanwhile {
  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
  std::shared_ptr<MeanwhileOnMembers> store = std::make_shared<MeanwhileOnMembers>(ann.store);
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store, .clock = fleet.clock, .process = "p", .random = {}},
      PingerOptions{}, PingerDrive::caller);
  DistributedLock lock{pinger, "jobs"};
};

std::set<std::string> names_of_threads() {
  std::set<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "comm");
    std::string name;
    if (std::getline(file, name)) names.insert(name);
  }
  return names;
}

}  // namespace

TEST_CASE("the threads of a pinger have names, and rest after one round",
          "[pinger][R12][threads]") {
  const auto clock = std::make_shared<RestingClock>();
  const auto store = std::make_shared<FaultyStore>(make_memory_store(clock));
  {
    Captured log;
    const DistributedLockPinger pinger({.store = store, .clock = clock, .process = "a"});
    clock->await_rest_of(3);
    CHECK(store->calls("ping") == 1);
    const auto names = names_of_threads();
    for (const char* name : {"LockPinger", "LockWatch", "LockRinger"}) {
      CHECK(names.count(name) == 1);
    }
    CHECK(log.count(severity_level::info, "creating dist lock ping thread for: a") == 1);
  }
  CHECK(store->calls("ping") == 1);
  CHECK(store.use_count() == 1);
}

TEST_CASE("the holder of a passed token is a thread of the process", "[pinger][R21][R22]") {
  Fleet fleet;
  Session session({.store = fleet.store, .clock = fleet.clock, .process = "a"}, {},
                  PingerDrive::caller);
  const Token ts{{1}};
  CHECK_FALSE(session.holder_of(ts));
  const auto hold = std::make_shared<Hold>("jobs", 1min);
  session.holds.enlist(hold, ts);
  hold->claim_validity.begin(fleet.clock->steady_now());
  REQUIRE(session.holds.begin(*hold, ts, {}, fleet.clock->steady_now()));
  REQUIRE(session.holder_of(ts));
  CHECK_THAT(*session.holder_of(ts), Catch::StartsWith("a:thread"));
  CHECK_FALSE(session.holder_of(Token{{2}}));
}

TEST_CASE("a ping that is confirmed right before a claim on a mirrored store counts for its hold",
          "[mirrored][pinger][M5][R9]") {
  PingsMeanwhile a;
  a.pinger->ping_round();
  a.fleet.clock->advance(30s);
  a.store->after_pings = [&] { a.pinger->ping_round(); };
  REQUIRE(a.lock.lock_try("x"));
  DistributedLock next(a.pinger, "more");
  REQUIRE(next.lock_try("y"));
  CHECK(a.lock.valid_until() == next.valid_until());
}

TEST_CASE("a ping that is confirmed during a repair counts for the member that is repaired",
          "[mirrored][pinger][M5][M9]") {
  PingsMeanwhile a;
  a.pinger->ping_round();
  a.ann.set_away(2, true);
  REQUIRE(a.lock.lock_try("x"));
  const auto whole = a.lock.remaining();
  a.ann.set_away(2, false);
  // Another thread pings, and only the last two members answer.
  a.store->before_repair = [&] {
    a.fleet.clock->advance(10s);
    a.ann.set_away(0, true);
    a.pinger->ping_round();
  };
  a.pinger->ping_round();
  REQUIRE(a.fleet.holders("jobs")[2] == "p");
  CHECK(a.lock.remaining() == whole);
}

namespace {

bool looks_for_pingers_at_the_end = false;

// Runs after all that is registered for the end. A thread that was joined is in the list of threads
// for a moment still.
__attribute__((destructor)) void look_for_pingers() {
  if (!looks_for_pingers_at_the_end) return;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (names_of_threads().count("LockPinger") > 0 && std::chrono::steady_clock::now() < until) {
    boost::this_thread::yield();
  }
  leave(names_of_threads().count("LockPinger") == 0 ? 0 : 1);
}

}  // namespace

TEST_CASE("the end of a program joins the threads of all pingers that are left",
          "[pinger][R12][threads]") {
  const auto end_with_pingers = []() -> int {
    looks_for_pingers_at_the_end = true;
    for (int i = 0; i < 3; ++i) {
      const auto store = make_memory_store();
      new DistributedLockPinger(Environment{.store = store});  // Never destroyed.
      while (store->list().pings.empty()) boost::this_thread::yield();
    }
    std::exit(2);
  };
  CHECK(answer_of_child(end_with_pingers) == 0);
}

namespace {

/// A store that says when nobody listens to its bell any more.
class EndingBell : public FaultyStore {
 public:
  explicit EndingBell(std::shared_ptr<Store> given) : FaultyStore(std::move(given)) {
    has_line = true;
  }
  std::promise<void> ended;

 private:
  std::shared_ptr<void> listen(std::string_view, distlock::Line::Rung) override {
    return {this, [](EndingBell* bell) { bell->ended.set_value(); }};
  }
};

}  // namespace

TEST_CASE("the threads of a pinger end a bell that nobody waits for",
          "[pinger][waiting][R20][threads]") {
  const auto clock = std::make_shared<RestingClock>();
  const auto store = std::make_shared<EndingBell>(make_memory_store(clock));
  auto ended = store->ended.get_future();
  const auto pinger =
      std::make_shared<Session>(Environment{.store = store, .clock = clock, .process = "a"},
                                PingerOptions{}, PingerDrive::own_threads);
  const auto owner = Session::owner_of(pinger);
  Session::start_threads(pinger);
  clock->await_rest_of(3);
  { const Lobby::Place place(pinger->lobby, "jobs"); }
  pinger->round();
  clock->advance(1min);
  pinger->round();
  CHECK(ended.wait_for(30s) == std::future_status::ready);
  clock->await_rest_of(3);  // A thread that is about to rest would miss the end.
}
