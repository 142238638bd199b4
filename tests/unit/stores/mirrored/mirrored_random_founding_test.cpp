#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <random>

#include "distlock/error.h"
#include "support/mirror_fleet.h"

// Processes that found a mirrored store at once, in random order, while requests and answers get
// lost, come late, or are refused. Processes die and others come. Each seed is one schedule.

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// One process, and all that it may do.
struct Founder {
  explicit Founder(MirrorProcess given) : process(std::move(given)), lock(process.lock("jobs")) {}

  MirrorProcess process;
  std::unique_ptr<DistributedLock> lock;
  bool busy = false;
};

/// One schedule of five processes. In the middle of a call of one others go on.
class Foundings {
 public:
  Foundings(std::uint64_t seed, std::size_t members) : random_(seed), fleet_(members) {
    for (std::size_t i = 0; i < 5; ++i) founders_.push_back(founder());
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }
  bool two_held() const { return two_held_; }
  int holds() const { return holds_; }
  /// Faults and processes end. One more process gets the lock, and goes on for two hours.
  void heal() {
    faulty_ = false;
    for (auto& one : founders_) one.reset();
    last_.emplace(fleet_.process("last"));
    const auto lock = last_->lock("jobs");
    for (int i = 0; i < 5 && !got(*lock); ++i) fleet_.clock->advance(20min);
    fleet_.rounds({&*last_}, 2h);
  }
  bool all_count() const {
    for (std::size_t i = 0; i < last_->members.size(); ++i) {
      if (last_->condition(i) != MemberState::Condition::counts) return false;
    }
    return true;
  }

 private:
  bool chance(int of_hundred) { return static_cast<int>(random_() % 100) < of_hundred; }

  std::unique_ptr<Founder> founder() {
    auto one = std::make_unique<Founder>(fleet_.process("p" + std::to_string(++born_)));
    for (auto& member : one->process.members) {
      member->during_each_call([this, store = member.get()](const std::string& call) {
        if (faulty_) meddle(*store, call);
      });
    }
    return one;
  }

  // Before a call of a member takes effect.
  void meddle(FaultyStore& store, const std::string& call) {
    fleet_.clock->advance(std::chrono::milliseconds{random_() % 200});
    if (chance(5)) fleet_.clock->advance(std::chrono::milliseconds{random_() % 20000});
    if (depth_ < 2 && chance(15)) step();
    constexpr std::array kFaults{Fault::rejected, Fault::lost_request, Fault::lost_reply,
                                 Fault::delayed, Fault::doubled};
    const bool writes = call != "inspect" && call != "list";
    if (writes && chance(25)) store.fail(call, kFaults[random_() % kFaults.size()]);
    if (!writes && chance(5)) store.fail(call, Fault::rejected);
  }

  void step() {
    const std::size_t chosen = random_() % founders_.size();
    if (founders_[chosen]->busy) return;
    Founder& one = *founders_[chosen];
    one.busy = true;
    ++depth_;
    try {
      act(one);
    } catch (const Error&) {
    }
    --depth_;
    one.busy = false;
    check();
    if (chance(4)) {
      dead_.push_back(std::move(founders_[chosen]));
      founders_[chosen] = founder();
    }
    if (chance(10)) fleet_.clock->advance(30s);
  }
  void act(Founder& one) {
    switch (random_() % 6) {
      case 0:
      case 1:
        if (!one.lock->held() && one.lock->lock_try("x")) ++holds_;
        break;
      case 2:
        if (one.lock->held()) static_cast<void>(one.lock->unlock());
        break;
      case 3:
        one.process.pinger->ping_round();
        break;
      case 4:
        static_cast<void>(one.process.store->list());
        break;
      default:
        for (auto& member : one.process.members) member->deliver();
        for (auto& dead : dead_) {
          for (auto& member : dead->process.members) {
            if (chance(30)) member->deliver();
          }
        }
    }
  }
  void check() {
    const auto holds = [](const auto& one) { return one && one->lock->held(); };
    const auto holders = std::count_if(founders_.begin(), founders_.end(), holds) +
                         std::count_if(dead_.begin(), dead_.end(), holds);
    two_held_ = two_held_ || holders > 1;
  }
  static bool got(DistributedLock& lock) {
    try {
      return lock.lock_try("x");
    } catch (const Error&) {
      return false;
    }
  }

  std::mt19937_64 random_;
  MirrorFleet fleet_;
  std::vector<std::unique_ptr<Founder>> founders_;
  std::vector<std::unique_ptr<Founder>> dead_;  // Their requests may still be under way.
  std::optional<MirrorProcess> last_;
  int born_ = 0;
  int depth_ = 0;
  int holds_ = 0;
  bool faulty_ = true;
  bool two_held_ = false;
};

}  // namespace

TEST_CASE("random foundings give one holder at a time, and a set in the end",
          "[mirrored][M1][M6][one_thread]") {
  constexpr std::uint64_t kSchedules = 30;
  const std::size_t members = GENERATE(3, 5);
  int holds = 0;
  for (std::uint64_t seed = 0; seed < kSchedules; ++seed) {
    CAPTURE(seed, members);
    Foundings foundings(seed, members);
    foundings.run(60);
    REQUIRE_FALSE(foundings.two_held());
    foundings.heal();
    CHECK(foundings.all_count());
    holds += foundings.holds();
  }
  // Without holds it would show nothing.
  CHECK(holds > 50);
}
