#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "distlock/stores.h"
#include "stores/mirrored/member.h"
#include "support/manual_clock.h"
#include "support/mirror_fleet.h"
#include "unit/scarce/scarcity.h"

// Members of a mirrored store whose process gets no memory (M6).
using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A member that is kept out, by one mark after the other.
struct Marked {
  void mark(const Token& token, const ClaimBasis& basis, const mirrored::Returns& returns) const {
    const StoreNow now = store->list().now;
    const Claim claim = mirrored::marker_claim(token, {Token{{7}}, 1h, returns}, member.place,
                                               {now.time + 1min, now.clock});
    REQUIRE(store->claim(mirrored::kIdentityName, basis, claim));
  }

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  std::shared_ptr<Store> store = make_memory_store(clock);
  mirrored::Member member{store, {1, 3}, clock, std::make_shared<mirrored::KnownReturns>()};
};

}  // namespace

TEST_CASE("a look without memory takes nothing of a member's earlier mark for that of a later one",
          "[scarce][mirrored][M6]") {
  at_each_want_of_memory([](const auto& starved) {
    Marked marked;
    marked.mark(Token{{1}}, FromAbsent{}, {0, 5});
    marked.member.look_at_identity();
    marked.member.note_told(Token{{1}});
    REQUIRE(marked.member.lack()->told);
    marked.mark(Token{{2}}, FromHold{.ts = Token{{1}}, .when = {}}, {0, 9, 7});
    starved([&] { marked.member.look_at_identity(); });
    marked.member.look_at_identity();  // The next look has memory.
    REQUIRE(marked.member.lack()->marker);
    CHECK(marked.member.lack()->marker->token == Token{{2}});
    CHECK_FALSE(marked.member.lack()->told);
  });
}

TEST_CASE("a claim that is short of memory is held or pending where it was granted",
          "[scarce][mirrored][R8][R12]") {
  int granted = 0;
  at_each_want_of_memory([&](const auto& starved) {
    MirrorFleet fleet;
    const auto holder = fleet.process("holder");
    const auto lock = holder.lock("jobs");
    starved([&] { (void)lock->lock_try("x"); });
    const bool known = lock->held() || holder.pinger->stats().pending_releases > 0;
    for (const std::string& process : fleet.holders("jobs")) CHECK((process.empty() || known));
    holder.pinger->stop();
    for (const OpenedMemoryStore& member : fleet.stores) {
      const Inspection seen = member.store->inspect("jobs", Freshness::fresh);
      if (!seen.lock || !seen.lock->taken()) continue;
      ++granted;
      CHECK(seen.ping);
    }
  });
  CHECK(granted >= 3);
}
