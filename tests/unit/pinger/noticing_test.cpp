// How many rounds come before a process has looked at its holds, where each call takes as long as
// it may. Each round has time for one call then.
#include <algorithm>
#include <catch2/catch.hpp>

#include "protocol/protocol.h"
#include "support/fleet.h"
#include "support/mirror_fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Of a process with `jobs`, which is freed after so many rounds. The releases of others fail, and
/// old pings are looked for in each turn.
int rounds_to_notice(int rounds_before) {
  Fleet fleet;
  fleet.store = make_memory_store(fleet.clock, {.call_limit = 15s});
  const auto ann = fleet.process("ann", {.forget_every = 1s});
  const auto jobs = ann.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  const auto other = ann.lock("other");
  REQUIRE(other->lock_try("x"));
  ann.store->fail("release", Fault::rejected, 100);
  REQUIRE(other->unlock() == UnlockResult::pending);
  ann.store->during_each_call([&](const std::string&) { fleet.clock->advance(15s - 1ns); });
  const auto round = [&] { fleet.clock->wait_until(ann.pinger->ping_round(), {}); };
  for (int i = 0; i < rounds_before; ++i) round();
  REQUIRE(fleet.store->release("jobs", *jobs->record().ts) == ReleaseResult::freed);
  int rounds = 0;
  for (; jobs->held() && rounds < 50; ++rounds) round();
  ann.store->during_each_call({});
  return rounds;
}

/// The same on a mirrored store. The last of five members is empty, and the one before it has a
/// hold of another process that keeps a repair out for now.
int rounds_to_notice_on_members(int rounds_before) {
  MirrorFleet fleet(5);
  const auto ann = fleet.process("ann", {.ping_every = 60s, .forget_every = 1s});
  const auto jobs = ann.lock("jobs");
  REQUIRE(jobs->lock_try("x"));
  fleet.empty(4);
  ann.set_away(3, true);
  const auto other = ann.lock("other");
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(other->unlock());
    REQUIRE(other->lock_try("x"));
  }
  Store& member = *fleet.stores[3].store;
  REQUIRE(member.claim("other", FromAbsent{},
                       {.process = "bob",
                        .who = "bob:1",
                        .why = "y",
                        .ts = Token{{7}},
                        .takeover_after = 16min,
                        .cutoff = member.list().now,
                        .fence = 2}));
  ann.set_away(3, false);
  const auto third = ann.lock("third");
  REQUIRE(third->lock_try("x"));
  for (const auto& store : ann.members) store->fail("release", Fault::rejected, 100);
  REQUIRE(third->unlock() == UnlockResult::pending);
  const auto most = ann.store->call_limit() / 10 - 1ns;
  for (const auto& store : ann.members) {
    store->during_each_call([&](const std::string&) { fleet.clock->advance(most); });
  }
  const auto round = [&] { fleet.clock->wait_until(ann.pinger->ping_round(), {}); };
  for (int i = 0; i < rounds_before; ++i) round();
  for (std::size_t i = 0; i < 4; ++i) fleet.stores[i].store->release("jobs", *jobs->record().ts);
  int rounds = 0;
  for (; jobs->held() && rounds < 50; ++rounds) round();
  CHECK(other->held());
  for (const auto& store : ann.members) store->during_each_call({});
  return rounds;
}

}  // namespace

TEST_CASE("a hold that was freed is noticed within as many slow rounds as are counted",
          "[pinger][R9][R12]") {
  int most = 0;
  for (int i = 0; i < 10; ++i) most = std::max(most, rounds_to_notice(i));
  CHECK(most + 1 == protocol::pings_until_noticed(false));
}

TEST_CASE("on a mirrored store more slow rounds are counted until a freed hold is noticed",
          "[pinger][mirrored][R9][R12]") {
  int most = 0;
  for (int i = 0; i < 15; ++i) most = std::max(most, rounds_to_notice_on_members(i));
  CHECK(most + 1 == protocol::pings_until_noticed(true));
}
