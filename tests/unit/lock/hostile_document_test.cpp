// A lock and documents that no client of ours writes.
#include <catch2/catch.hpp>
#include <limits>

#include "support/fleet.h"
#include "support/tampering.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;
using namespace distlock::testing;

TEST_CASE("a document's takeover_after does not make lock() hammer the store", "[lock][R15]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto held = a.lock("balancer");
  REQUIRE(held->lock_try("x"));
  tamper(fleet.memory.tables, "balancer", "takeover_after",
         std::int64_t{9223372036855});  // 292 years
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

TEST_CASE("nobody is given the last fence there is", "[lock][R10][R14]") {
  Fleet fleet;
  fleet.memory.tables.put_lock({{"_id", std::string("balancer")},
                                {"state", std::int32_t{0}},
                                {"who", std::string()},
                                {"fence", std::numeric_limits<std::int64_t>::max() - 1}});
  const auto before = fleet.memory.tables.raw_lock("balancer");
  const auto lock = fleet.process("a").lock("balancer");
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::bad_record);
  CHECK(thrown_by([&] { return lock->try_lock_for(1s); }) == Errc::bad_record);
  CHECK_FALSE(lock->held());
  CHECK(fleet.memory.tables.raw_lock("balancer") == before);
}

TEST_CASE("a claim that leaves a malformed document is of unknown outcome, and the pinger frees it",
          "[lock][R8][R14]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const Document free{
      {"_id", std::string("balancer")}, {"state", std::int32_t{0}}, {"who", std::string()}};
  fleet.memory.tables.put_lock(free);
  a.store->before("claim", [&] {
    Document spoilt = free;
    spoilt.emplace_back("freed_at", std::string("yesterday"));
    fleet.memory.tables.put_lock(spoilt);
  });
  const auto lock = a.lock("balancer");
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::outcome_unknown);
  CHECK_FALSE(lock->held());
  CHECK(a.pinger->stats().pending_releases == 1);
  a.pinger->ping_round();
  CHECK(state_in(*fleet.memory.tables.raw_lock("balancer")) == LockState::free);
}

TEST_CASE("a fence that cannot grow is an error, not an endless wait", "[lock][R10][R14]") {
  Fleet fleet;
  fleet.memory.tables.put_lock({{"_id", std::string("balancer")},
                                {"state", std::int32_t{0}},
                                {"who", std::string()},
                                {"fence", std::numeric_limits<std::int64_t>::max()}});
  const auto lock = fleet.process("a").lock("balancer");
  CHECK(thrown_by([&] { return lock->lock_try("x"); }) == Errc::bad_record);
}
