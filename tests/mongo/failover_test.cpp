#include <algorithm>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "mongo/attempts.h"
#include "mongo/faults.h"
#include "stores/mongodb/mongo_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kHolder = "db7:1:1";

// Pings until a ping is confirmed, by whatever primary.
PingRecord ping_at_last(Store& store) {
  std::optional<PingRecord> ping;
  wait_until("a confirmed ping", [&] {
    failure_of([&] { ping = store.ping(kHolder); });
    return ping.has_value();
  });
  return *ping;
}

// Sixteen looks at "jobs" at once.
class InFlight {
 public:
  static constexpr std::size_t kLooks = 16;

  InFlight(Store& store, Freshness freshness) : answers_(kLooks), failures_(kLooks) {
    for (std::size_t i = 0; i < kLooks; ++i) {
      threads_.create_thread([this, &store, freshness, i] {
        failures_[i] = failure_of([&] { answers_[i] = store.inspect("jobs", freshness); });
      });
    }
  }
  ~InFlight() { join(); }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void join() { threads_.join_all(); }

  std::vector<Inspection> answers() const {
    std::vector<Inspection> given;
    for (const auto& answer : answers_) {
      if (answer) given.push_back(*answer);
    }
    return given;
  }
  // A look changes nothing, and says so.
  std::size_t failures() const {
    return static_cast<std::size_t>(
        std::count(failures_.begin(), failures_.end(), Errc::not_applied));
  }

 private:
  std::vector<std::optional<Inspection>> answers_;
  std::vector<std::optional<Errc>> failures_;
  boost::thread_group threads_;
};

}  // namespace

TEST_CASE("a write that a majority does not confirm in time is unknown, and applied",
          "[mongo][R8]") {
  wait_until_whole(replica_set_uri());
  const auto ports = ports_of(replica_set_uri());
  const int primary = primary_among(ports);
  const Server server(replica_set_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const auto hasty = open_mongo_store(server.connection(), {.call_limit = 3s});
  store->ping(kHolder);
  server.put(kLocks, json(R"({"_id": "jobs", "state": 0, "who": ""})"));
  const Claim claim = our_claim(*store);
  {
    const Stopped first(without(ports, primary)[0]);
    const Stopped second(without(ports, primary)[1]);
    CHECK(failure_of([&] { hasty->claim("jobs", FromFree{}, claim); }) == Errc::outcome_unknown);
    // Asked directly, for a primary that sees no majority steps down after a while.
    const Server alone(direct_uri(primary), server.database());
    const auto lock = alone.raw(kLocks, "jobs");
    REQUIRE(lock);
    CHECK(lock_from(*lock).ts == kOurs);
  }
  ping_at_last(*store);
  wait_until_whole(replica_set_uri());
}

TEST_CASE("a judgement is never made on what a deposed primary says", "[mongo][R4][R6]") {
  wait_until_whole(replica_set_uri());
  const auto ports = ports_of(replica_set_uri());
  const int deposed = primary_among(ports);
  const Server server(replica_set_uri());
  const auto holder = open_mongo_store(server.connection(), {.call_limit = 5s});
  const auto contender = open_mongo_store(server.connection(), {.call_limit = 4min});
  const PingRecord before = holder->ping(kHolder);
  REQUIRE(holder->claim("jobs", FromAbsent{}, our_claim(*holder)));
  {
    const InFlight warm(*contender, Freshness::fresh);
    const InFlight more(*contender, Freshness::ordinary);
  }

  Stopped stopped(deposed);
  // They wait in the sockets of the stopped primary. Many, for it is a matter of luck which of them
  // it answers before it learns that it is deposed.
  InFlight reads(*contender, Freshness::fresh);
  InFlight ordinary(*contender, Freshness::ordinary);
  elect_among(without(ports, deposed));
  const PingRecord after = ping_at_last(*holder);
  REQUIRE(after.clock != before.clock);
  stopped.go_on();
  reads.join();
  ordinary.join();

  // A look that was sent late enough goes to the new primary, and may be answered there before the
  // ping: its now and its ping are by two clocks, and nothing is judged on that.
  CAPTURE(deposed, before.ping, before.clock, after.ping, after.clock);
  for (const Inspection& seen : reads.answers()) {
    CAPTURE(seen.now->time, seen.now->clock, seen.ping->ping, seen.ping->clock);
    CHECK(seen.fresh);
    if (seen.now->clock == seen.ping->clock) CHECK(seen.ping->ping >= after.ping);
  }
  CHECK(reads.answers().size() + reads.failures() == InFlight::kLooks);
  // An ordinary look is told what the deposed primary has: a fresh one would be told the same.
  const auto told = ordinary.answers();
  CAPTURE(told.size(), ordinary.failures());
  CHECK(std::any_of(told.begin(), told.end(), [&](const Inspection& seen) {
    return seen.now->clock == before.clock && seen.ping->ping == before.ping;
  }));
  wait_until_whole(replica_set_uri());
}

TEST_CASE("another primary's clock is told from the first one's", "[mongo][R4][R8]") {
  wait_until_whole(ahead_set_uri());
  const auto ports = ports_of(ahead_set_uri());
  step_up(ahead_set_uri(), ports[0]);
  const Server server(ahead_set_uri());
  const auto store = open_mongo_store(server.connection(), {});
  const PingRecord ping = ping_at_last(*store);
  REQUIRE(store->claim("jobs", FromAbsent{}, our_claim(*store)));
  // Not past by either clock, so that only the clock itself tells.
  const Claim late = our_claim(*store, 1h);

  step_up(ahead_set_uri(), ports[1]);
  std::optional<Inspection> seen;
  wait_until("an answer of the new primary", [&] {
    failure_of([&] { seen = store->inspect("jobs", Freshness::fresh); });
    return seen && seen->now->clock != ping.clock;
  });
  // Its time alone would say that the holder has been silent for ten minutes.
  CHECK(seen->now->time - seen->ping->ping > 9min);
  CHECK(seen->ping->clock == ping.clock);
  CHECK_FALSE(store->claim("jobs", FromHold{kOurs}, late));
  step_up(ahead_set_uri(), ports[0]);
}
