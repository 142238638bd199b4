// Processes of which each claims another member first, as its last write to the ones before it was
// in vain (M2).
#include <algorithm>
#include <atomic>
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "support/faulty_store.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kContenders = 3;

/// A process that claims the member of that number first. Calls are made on the caller's thread.
struct SplittingProcess {
  SplittingProcess(const ThreeMembers& three, std::size_t first) {
    for (const auto& member : three.members) {
      members.push_back(std::make_shared<FaultyStore>(member));
    }
    store = make_mirrored_store({members[0], members[1], members[2]}, host_clock(),
                                {MirrorDrive::caller, {}});
    pinger = std::make_shared<DistributedLockPinger>(
        Environment{.store = store, .process = "process" + std::to_string(first)}, PingerOptions{},
        PingerDrive::caller);
    pinger->ping_round();
    for (std::size_t i = 0; i < first; ++i) members[i]->fail("release", Fault::rejected);
    // Frees nothing. Where two members fail its outcome is unknown.
    thrown_by([&] { return store->release("jobs", Token{{9}}); });
  }

  std::vector<std::shared_ptr<FaultyStore>> members;
  std::shared_ptr<Store> store;
  std::shared_ptr<DistributedLockPinger> pinger;
};

/// Lets all contenders claim their first members at once, before any claims a second one.
class AllAtOnce {
 public:
  explicit AllAtOnce(const ThreeMembers& three) : three_(three) {}

  void meet(const SplittingProcess& process) {
    for (const auto& member : process.members) {
      member->during_each_call([this](const std::string& call) {
        if (call == "claim") before_claim();
      });
    }
  }
  bool were_split() const { return split_; }

 private:
  // On the thread of the process.
  void before_claim() {
    thread_local int claims = 0;
    if (++claims > 2) return;
    meeting_.wait();
    if (claims != 2) return;
    if (++looking_ == 1) split_ = all_are_taken();
    meeting_.wait();
  }
  bool all_are_taken() const {
    return std::all_of(three_.members.begin(), three_.members.end(), [](const auto& member) {
      const auto lock = member->inspect("jobs", Freshness::fresh).lock;
      return lock && lock->taken();
    });
  }

  const ThreeMembers& three_;
  boost::barrier meeting_{kContenders};
  std::atomic<int> looking_ = 0;
  std::atomic<bool> split_ = false;
};

}  // namespace

TEST_CASE("of three processes that have split the members each gets the lock in the end",
          "[mirrored][M2][R15][threads]") {
  ThreeMembers three(10s);
  AllAtOnce all(three);
  std::vector<std::unique_ptr<SplittingProcess>> processes;
  for (std::size_t i = 0; i < kContenders; ++i) {
    processes.push_back(std::make_unique<SplittingProcess>(three, i));
    all.meet(*processes.back());
  }
  std::atomic<int> inside = 0;
  std::atomic<int> together = 0;
  std::atomic<int> got = 0;
  boost::thread_group threads;
  for (const auto& process : processes) {
    threads.create_thread([&] {
      DistributedLock lock(process->pinger, "jobs");
      if (!lock.try_lock_for(5min)) return;
      if (++inside > 1) ++together;
      ++got;
      for (int i = 0; i < 100; ++i) boost::this_thread::yield();
      if (inside > 1) ++together;
      --inside;
      lock.unlock();
    });
  }
  threads.join_all();
  for (const auto& process : processes) {
    for (const auto& member : process->members) member->during_each_call({});
  }
  CHECK(all.were_split());
  CHECK(together == 0);
  CHECK(got == 3);
}

TEST_CASE("a claim that lost is settled where somebody else has taken or freed its holds meanwhile",
          "[mirrored][M2][R8]") {
  ThreeMembers three(30s);
  const auto rival_on = [&](std::size_t member, const ClaimBasis& basis) {
    Store& store = *three.stores[member].store;
    Claim rival = claim_of(store, Token{{2}});
    rival.process = "bob";
    REQUIRE(store.claim("jobs", basis, rival));
  };
  for (const std::size_t member : {1, 2})
    three.members[member]->before("claim", [&, member] { rival_on(member, FromAbsent{}); });
  const Claim ours = claim_of(*three.store, Token{{1}});
  const bool taken = GENERATE(true, false);
  three.members[0]->before("release", [&] {
    if (taken) return rival_on(0, FromHold{ours.ts});
    REQUIRE(three.stores[0].store->release("jobs", ours.ts) == ReleaseResult::freed);
  });
  CHECK_FALSE(three.store->claim("jobs", FromAbsent{}, ours));
}
