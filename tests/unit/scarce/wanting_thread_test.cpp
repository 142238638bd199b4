// The watch over deadlines while callbacks wait for want of a thread, and after it.
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <vector>

#include "pinger/holds.h"
#include "unit/scarce/scarcity.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kHoldsBegin{1h};
constexpr SteadyTime kHoldsAreOver = kHoldsBegin + 1min;

/// Holds of one minute, whose announcements run on two threads.
class ShortHolds {
 public:
  ShortHolds() { holds.announcer().start(); }
  ~ShortHolds() {
    for (const auto& hold : all_) holds.silence(*hold);
    holds.announcer().close();
  }
  ShortHolds(const ShortHolds&) = delete;
  ShortHolds& operator=(const ShortHolds&) = delete;

  std::shared_ptr<Hold> begin(OnLost on_lost) {
    const auto hold = all_.emplace_back(std::make_shared<Hold>("lock", 1min));
    const Token ts{{static_cast<std::uint8_t>(all_.size())}};
    holds.on_lost(*hold, std::move(on_lost));
    holds.enlist(hold, ts);
    hold->claim_validity.begin(kHoldsBegin);
    REQUIRE(holds.begin(*hold, ts, {}, kHoldsBegin));
    return hold;
  }
  /// When the watch comes back, which looks when all of them are over.
  SteadyTime watch() { return holds.announce_due(kHoldsAreOver).next; }

  Holds holds{AnnounceOn::own_threads};

 private:
  std::vector<std::shared_ptr<Hold>> all_;
};

}  // namespace

TEST_CASE("the watch comes back soon while a callback waits for a thread, and no longer",
          "[scarce][pinger][R9][threads]") {
  ShortHolds world;
  const ThreadsLeft none(0);
  std::promise<void> go_on;
  std::promise<void> blocks;
  world.begin([&blocks, held_up = go_on.get_future().share()](LossReason) {
    blocks.set_value();
    held_up.wait();
  });
  CHECK(world.watch() == SteadyTime::max());
  blocks.get_future().wait();
  const auto waiting = world.begin([](LossReason) {});
  world.watch();
  REQUIRE(comes_true([&] { return world.holds.announcer().take_shortage(); }));
  CHECK(world.watch() == kHoldsAreOver + 100ms);
  // As the destructor of its lock, which runs the callback itself.
  world.holds.silence(*waiting);
  CHECK(world.watch() == SteadyTime::max());
  go_on.set_value();
}
