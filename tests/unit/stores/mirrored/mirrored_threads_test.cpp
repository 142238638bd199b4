#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "distlock/members.h"
#include "stores/mirrored/member.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Members that are asked at once, on threads of the store's own.

TEST_CASE("a call ends within its limit while a member hangs, and the next waits for it no more",
          "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.members[1]->before("ping", [&] { gate.pass(); });
  static_cast<void>(three.store->ping("ann"));
  CHECK(three.waits() == 1);

  // Its thread still hangs in that call.
  const Claim claim = claim_of(*three.store, Token{{1}});
  const auto granted = three.store->claim("jobs", FromAbsent{}, claim);
  gate.open();
  CHECK(three.waits() == 1);
  REQUIRE(granted);
  CHECK(granted->members.size() == 2);
}

TEST_CASE("a mirrored store that ends while a member hangs in a claim waits for that call alone",
          "[mirrored][M2][lifetime]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.members[1]->before("claim", [&] { gate.pass(); });
  const Claim claim = claim_of(*three.store, Token{{1}});
  CHECK(three.store->claim("jobs", FromAbsent{}, claim));
  boost::thread opener([&] { gate.open(); });
  three.store.reset();
  opener.join();
  CHECK(three.members[1]->inspect("jobs", Freshness::fresh).lock->ts == claim.ts);
}

TEST_CASE("while two of three members hang, a call fails at its limit", "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.members[0]->before("inspect", [&] { gate.pass(); });
  three.members[1]->before("inspect", [&] { gate.pass(); });
  CHECK(thrown_by([&] { return three.store->inspect("jobs", Freshness::ordinary); }) ==
        Errc::not_applied);
  gate.open();
  CHECK(three.waits() == 1);
}

TEST_CASE("a member that hangs is not waited for where the others are away", "[mirrored][M2]") {
  Gate gate;
  ThreeIdle three;
  const OpenedAtLast opened{gate};
  three.members[0]->during_each_call([&](const std::string&) { gate.pass(); });
  static_cast<void>(three.store->list());
  CHECK(three.waits() == 1);
  for (const std::size_t i : {1, 2}) {
    three.members[i]->during_each_call(
        [](const std::string&) { throw Error(Errc::not_applied, "the member is away"); });
  }
  for (int i = 0; i < 3; ++i) {
    CHECK(thrown_by([&] { static_cast<void>(three.store->list()); }) == Errc::not_applied);
  }
  CHECK(three.waits() == 1);
}

TEST_CASE("calls of other threads hold up neither a call of a member nor its ping",
          "[mirrored][M2][R9][threads]") {
  Gate gate;
  ThreeMembers one(30s, 1);
  FaultyStore& member = *one.members[0];
  member.during_each_call([&](const std::string& call) {
    if (call == "list") gate.pass();
  });
  const std::size_t hanging = GENERATE(std::size_t{1}, mirrored::kCallsAtOnce);
  std::atomic<std::size_t> listed = 0;
  boost::thread_group threads;
  for (std::size_t i = 0; i < hanging + 1; ++i) {
    threads.create_thread([&] {
      one.store->list();
      ++listed;
    });
  }
  gate.wait_for(hanging);
  CHECK(one.store->ping("ann").process == "ann");
  if (hanging == 1) CHECK_FALSE(one.store->inspect("jobs", Freshness::fresh).lock);
  CHECK(listed == 0);
  gate.open();
  threads.join_all();
  CHECK(listed == hanging + 1);
}

TEST_CASE("a ping stays while a claim of its process is under way", "[mirrored][M2][R7][threads]") {
  Gate gate;
  ThreeMembers one(30s, 1);
  static_cast<void>(one.store->ping("ann"));
  const Claim claim = claim_of(*one.store, Token{{1}});
  // The look of remove_ping() at the holds is over before the claim takes effect.
  one.members[0]->before("claim", [&] { gate.pass(); });
  boost::thread claimer([&] { one.store->claim("jobs", FromAbsent{}, claim); });
  gate.wait_for(1);
  one.store->remove_ping("ann");
  gate.open();
  claimer.join();
  const Inspection seen = one.members[0]->inspect("jobs", Freshness::fresh);
  REQUIRE(seen.lock);
  CHECK(seen.lock->ts == claim.ts);
  CHECK(seen.ping);
}

// Only ThreadSanitizer sees that what is known of returns has a mutex.
TEST_CASE("threads that ping and look at once hear of the same return", "[mirrored][M6][threads]") {
  ThreeMembers three(30s);
  three.empty(1);
  REQUIRE(three.store->members()->readmit(1));
  constexpr int kCalls = 50;
  boost::thread pinging([&] {
    for (int i = 0; i < kCalls; ++i) three.store->ping("ann");
  });
  for (int i = 0; i < kCalls; ++i) {
    static_cast<void>(three.store->inspect("jobs", Freshness::fresh));
  }
  pinging.join();
  CHECK(three.store->members()->states()[1].condition == MemberState::Condition::counts);
}

TEST_CASE("of eight threads on two handles one at a time holds a mirrored lock",
          "[mirrored][M1][R1]") {
  ThreeMembers three(2s);
  std::vector<std::shared_ptr<DistributedLockPinger>> pingers;
  for (const char* name : {"ann", "bob"}) {
    const auto handle = make_mirrored_store({three.members[0], three.members[1], three.members[2]});
    pingers.push_back(
        std::make_shared<DistributedLockPinger>(Environment{.store = handle, .process = name}));
  }
  std::atomic<int> inside = 0;
  std::atomic<int> together = 0;
  std::atomic<int> got = 0;
  LockOptions options;
  options.poll_min = 1ms;
  options.poll_max = 5ms;
  boost::thread_group threads;
  for (std::size_t i = 0; i < 8; ++i) {
    threads.create_thread([&, i] {
      DistributedLock lock(pingers[i % 2], "jobs", options);
      for (int round = 0; round < 5; ++round) {
        if (!lock.try_lock_for(5min)) continue;
        if (++inside > 1) ++together;
        ++got;
        --inside;
        lock.unlock();
      }
    });
  }
  threads.join_all();
  CHECK(together == 0);
  CHECK(got == 40);
}
