// Stores whose every call takes almost as long as it may, and what a round has time for then.
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "distlock/error.h"
#include "protocol/protocol.h"
#include "support/fleet.h"
#include "support/seed.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;
using std::chrono::nanoseconds;

namespace {

struct Options {
  LockOptions lock;
  PingerOptions pinger;
  std::chrono::milliseconds call_limit;

  bool accepted() const {
    try {
      protocol::check_options(lock);
      protocol::check_options(pinger);
      protocol::check_room(lock, pinger, call_limit);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
};

// From milliseconds to hours, each order of magnitude as likely.
std::chrono::milliseconds some_time(std::mt19937& random) {
  const double power = std::uniform_real_distribution<>(0, 7)(random);
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::pow(10, power))};
}

// Accepted, and often by little.
Options some_options(std::mt19937& random) {
  while (true) {
    Options options{{.takeover_after = some_time(random)},
                    {.ping_every = some_time(random)},
                    some_time(random)};
    options.pinger.forget_every = options.pinger.ping_every;
    if (!options.accepted()) continue;
    while (random() % 8 != 0) {
      Options tighter = options;
      if (random() % 2 == 0)
        tighter.call_limit += tighter.call_limit / 16 + 1ms;
      else
        tighter.pinger.ping_every += tighter.pinger.ping_every / 16 + 1ms;
      if (!tighter.accepted()) break;
      options = tighter;
    }
    return options;
  }
}

// One process with everything that a round may have to do.
struct BusyProcess {
  explicit BusyProcess(const Options& given, bool others_wait = false) : options(given) {
    fleet.store = make_memory_store(fleet.clock, {.call_limit = options.call_limit});
    process = fleet.process("a", options.pinger);
    process.store->during_each_call([](const std::string& call) {
      if (call == "release") throw Error(Errc::not_applied, "not before the test begins");
    });
    for (int i = 0; i < 4; ++i) make_pending("pending" + std::to_string(i));
    if (others_wait) have_others_wait();
    kept = process.lock("kept", options.lock);
    REQUIRE(kept->lock_try("x"));
    for (int i = 0; i < 4; ++i) make_missing("missing" + std::to_string(i));
    for (std::uint8_t i = 0; i < 4; ++i)
      fleet.put_stray("a", "stray" + std::to_string(i), {{9, i}});
    process.store->during_each_call({});
  }

  void make_pending(const std::string& name) const {
    const auto lock = process.lock(name, options.lock);
    REQUIRE(lock->lock_try("x"));
    REQUIRE(lock->unlock() == UnlockResult::pending);
  }
  void have_others_wait() {
    process.store->has_line = true;
    for (std::uint8_t i = 0; i < 4; ++i) {
      const Claim waiter = fleet.claim_by("b", {{8, i}});
      REQUIRE(fleet.store->line()->stand("pending" + std::to_string(i), waiter).in_line);
    }
  }
  void make_missing(const std::string& name) {
    broken.push_back(process.lock(name, options.lock));
    REQUIRE(broken.back()->lock_try("x"));
    REQUIRE(fleet.store->release(name, *broken.back()->record().ts) == ReleaseResult::freed);
  }

  // All but what the process knows that it holds.
  bool all_done() const {
    const bool told =
        std::none_of(broken.begin(), broken.end(), [](const auto& lock) { return lock->held(); });
    return told && fleet.store->holds("a").size() == 1;
  }

  Options options;
  Fleet fleet;
  distlock::testing::Process process;
  std::unique_ptr<DistributedLock> kept;
  std::vector<std::unique_ptr<DistributedLock>> broken;
};

}  // namespace

TEST_CASE("no hold that was accepted is lost on a store that answers in time",
          "[pinger][R9][R12]") {
  std::mt19937 random(seed_from("DISTLOCK_SLOW_SEED"));
  for (int i = 0; i < 200; ++i) {
    BusyProcess busy(some_options(random), random() % 2 == 0);
    Fleet& fleet = busy.fleet;
    const nanoseconds longest = nanoseconds{busy.options.call_limit} - 1ns;
    const bool always = random() % 2 == 0;
    CAPTURE(busy.options.lock.takeover_after, busy.options.pinger.ping_every, longest, always);
    int held = 0;
    int calls = 0;
    busy.process.store->during_each_call([&](const std::string&) {
      fleet.clock->advance(always || random() % 2 == 0 ? longest : longest / 100);
      ++calls;
      held += busy.kept->held() ? 1 : 0;
    });
    int rounds = 0;
    for (; rounds < 60 && !busy.all_done(); ++rounds) {
      fleet.clock->wait_until(busy.process.pinger->ping_round(), {});
    }
    CHECK(held == calls);
    CHECK(busy.kept->held());
    CHECK(busy.all_done());
    busy.process.store->during_each_call({});
  }
}

// The first call of a chore begins in any case. A bell that rang at once would be a second.
TEST_CASE("a pending release that others wait for takes a round the time of one call",
          "[pinger][R9][R12][R19]") {
  BusyProcess busy({{.takeover_after = 45'800ms}, {.ping_every = 10s}, 10s}, true);
  Fleet& fleet = busy.fleet;
  busy.process.store->during_each_call([&](const std::string&) {
    fleet.clock->advance(10s - 1ns);
    CHECK(busy.kept->held());
  });
  for (int i = 0; i < 60 && !busy.all_done(); ++i) {
    fleet.clock->wait_until(busy.process.pinger->ping_round(), {});
  }
  CHECK(busy.all_done());
  CHECK(busy.process.store->calls("ring") == 0);
  busy.process.store->during_each_call({});
  busy.process.pinger->ring_round();
  CHECK(busy.process.store->calls("ring") == 4);
}

// The pinger's thread beside a thread that claims. A round that is due in the middle of a call
// happens there, and its ping is confirmed before that call ends.
TEST_CASE("no hold is lost that a slow claim got beside pings in time", "[lock][R9][R12]") {
  std::mt19937 random(seed_from("DISTLOCK_SLOW_SEED"));
  for (int i = 0; i < 200; ++i) {
    const Options options = some_options(random);
    Fleet fleet;
    fleet.store = make_memory_store(fleet.clock, {.call_limit = options.call_limit});
    const auto a = fleet.process("a", options.pinger);
    const auto lock = a.lock("balancer", options.lock);
    const auto pass_to = [&](SteadyTime time) { fleet.clock->wait_until(time, {}); };
    const nanoseconds longest = nanoseconds{options.call_limit} - 1ns;
    SteadyTime due = a.pinger->ping_round();
    SteadyTime reply;
    bool in_round = false;
    a.store->during_each_call([&](const std::string& call) {
      if (in_round) return pass_to(call == "ping" ? reply : fleet.clock->steady_now());
      reply = fleet.clock->steady_now() + longest;
      if (due < reply) {
        pass_to(due);
        in_round = true;
        due = a.pinger->ping_round();
        in_round = false;
      }
      pass_to(reply);
    });
    // It falls due while the claim is under way, which follows a look.
    pass_to(due - longest - longest / (2 + random() % 8));
    CAPTURE(options.lock.takeover_after, options.pinger.ping_every, longest);
    REQUIRE(lock->lock_try("x"));
    CHECK(a.store->calls("ping") >= 2);
    for (int round = 0; round < 4; ++round) {
      pass_to(due);
      reply = fleet.clock->steady_now() + longest;
      in_round = true;
      due = a.pinger->ping_round();
      in_round = false;
      REQUIRE(lock->held());
    }
    a.store->during_each_call({});
  }
}

// The proportions of the tool's options, and of fitting().
TEST_CASE("a quick store's round does everything, however long a call may take",
          "[pinger][R9][R12]") {
  BusyProcess busy({{.takeover_after = 8s}, {.ping_every = 1s}, GENERATE(500ms, 1s, 1700ms)});
  Fleet& fleet = busy.fleet;
  busy.process.store->during_each_call([&](const std::string&) { fleet.clock->advance(1ms); });
  busy.process.pinger->ping_round();
  CHECK(busy.all_done());
  busy.process.store->during_each_call({});
}

// A call ends within about its limit, which may be a little later.
TEST_CASE("chores are done also where each ping takes longer than its limit", "[pinger][R9][R12]") {
  BusyProcess busy({{.takeover_after = 8s}, {.ping_every = 1s}, 1s});
  Fleet& fleet = busy.fleet;
  busy.process.store->during_each_call(
      [&](const std::string& call) { fleet.clock->advance(call == "ping" ? 1010ms : 1ms); });
  // One call a round: for lists, looks and repairs, and stray holds and releases in turns.
  for (int i = 0; i < 30 && !busy.all_done(); ++i) busy.process.pinger->ping_round();
  CHECK(busy.all_done());
  busy.process.store->during_each_call({});
}

TEST_CASE("chores never hold up a ping where the interval has room for them", "[pinger][R12]") {
  BusyProcess busy({{}, {.forget_every = 1s}, 10s});
  Fleet& fleet = busy.fleet;
  std::vector<SteadyTime> pings;
  busy.process.store->during_each_call([&](const std::string& call) {
    if (call == "ping") pings.push_back(fleet.clock->steady_now());
    fleet.clock->advance(10s - 1ns);
  });
  for (int i = 0; i < 30; ++i) fleet.clock->wait_until(busy.process.pinger->ping_round(), {});
  CHECK(busy.all_done());
  REQUIRE(pings.size() == 30);
  for (std::size_t i = 1; i < pings.size(); ++i) CHECK(pings[i] - pings[i - 1] == 30s);
  busy.process.store->during_each_call({});
}

// The server works on it until the time is over, as beside an open transaction that has the
// document.
TEST_CASE("a pending release that times out each time holds up no other", "[pinger][R8][R12]") {
  class StuckStore : public FaultyStore {
   public:
    using FaultyStore::FaultyStore;
    ReleaseResult release(std::string_view name, const Token& ts) override {
      if (name.substr(0, 5) != "stuck") return FaultyStore::release(name, ts);
      pass(call_limit());
      throw Error(Errc::outcome_unknown, "no answer in time");
    }
    std::function<void(nanoseconds)> pass = [](nanoseconds) {};
  };
  Fleet fleet;
  const auto a = fleet.process_with(std::make_shared<StuckStore>(fleet.store), "a");
  for (const std::string name : {"stuck1", "stuck2", "stuck3", "one", "two", "three"}) {
    const auto lock = a.lock(name);
    REQUIRE(lock->lock_try("x"));
    if (name.substr(0, 5) != "stuck") a.store->fail("release", Fault::rejected, 3);
    REQUIRE(lock->unlock() == UnlockResult::pending);
  }
  a.store->pass = [&](nanoseconds time) { fleet.clock->advance(time); };
  for (int i = 0; i < 3; ++i) fleet.clock->wait_until(a.pinger->ping_round(), {});
  CHECK(fleet.store->holds("a").size() == 3);
  CHECK(a.pinger->stats().pending_releases == 3);
}

TEST_CASE("a round whose chores wait for the store does not stop another thread's pings",
          "[pinger][R12][tsan]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  const SteadyTime before = lock->valid_until();
  a.store->before("holds", [&] {
    fleet.clock->advance(30s);
    boost::thread([&] { a.pinger->ping_round(); }).join();
  });
  a.pinger->ping_round();
  CHECK(lock->valid_until() == before + 30s);
  CHECK(a.store->calls("holds") == 1);
}

TEST_CASE("no chore begins a call after a stop", "[pinger][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  std::vector<std::unique_ptr<DistributedLock>> locks;
  for (int i = 0; i < 5; ++i) {
    locks.push_back(a.lock("lock" + std::to_string(i)));
    REQUIRE(locks.back()->lock_try("x"));
    REQUIRE(fleet.store->release(locks.back()->name(), *locks.back()->record().ts) ==
            ReleaseResult::freed);
  }
  a.store->before("carried", [&] { a.pinger->stop(); });
  a.pinger->ping_round();
  CHECK(a.store->calls("carried") == 1);
}
