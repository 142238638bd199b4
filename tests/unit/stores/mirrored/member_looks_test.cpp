// Looks at a member's identity whose answers come in another order (M6).
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <latch>
#include <memory>

#include "distlock/stores.h"
#include "stores/mirrored/member.h"
#include "support/faulty_store.h"
#include "support/manual_clock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Once it is armed, the next thread that asks for the time is kept with the answer.
class KeepingClock : public ManualClock {
 public:
  SteadyTime steady_now() const override {
    const SteadyTime now = ManualClock::steady_now();
    if (armed.exchange(false)) {
      kept.count_down();
      go_on.wait();
    }
    return now;
  }

  mutable std::atomic<bool> armed = false;
  mutable std::latch kept{1};
  mutable std::latch go_on{1};
};

}  // namespace

TEST_CASE("an older look that is noted later does not set back the time of a member's change",
          "[mirrored][M6][threads]") {
  const auto clock = std::make_shared<KeepingClock>();
  const auto store = std::make_shared<FaultyStore>(make_memory_store(clock));
  mirrored::Member member(store, {1, 3}, clock, std::make_shared<mirrored::KnownReturns>());
  store->after("inspect", [&] { clock->armed = true; });
  boost::thread older([&] { member.look_at_identity(); });
  clock->kept.wait();
  clock->advance(10s);
  const StoreNow now = store->list().now;
  const Claim identity = mirrored::identity_claim(Token{{1}}, {Token{{7}}, 1h, {}}, member.place,
                                                  {now.time + 1min, now.clock});
  REQUIRE(store->claim(mirrored::kIdentityName, FromAbsent{}, identity));
  const SteadyTime newer = clock->steady_now();
  member.look_at_identity();
  CHECK_FALSE(member.lack());
  clock->go_on.count_down();
  older.join();
  CHECK(member.lack().value().since == newer);
}

TEST_CASE("a member lacks its identity from when the answer was there", "[mirrored][M6]") {
  const auto clock = std::make_shared<ManualClock>();
  const auto store = std::make_shared<FaultyStore>(make_memory_store(clock));
  mirrored::Member member(store, {1, 3}, clock, std::make_shared<mirrored::KnownReturns>());
  store->before("inspect", [&] { clock->advance(10s); });
  member.look_at_identity();
  CHECK(member.lack().value().since == clock->steady_now());
}
