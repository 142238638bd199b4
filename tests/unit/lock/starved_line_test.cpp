// A wait whose line runs out of memory, or answers that it has not looked (R8, R18).
#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>
#include <utility>

#include "distlock/distributed_lock.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A line whose calls meet a want of memory.
class StarvedLine : public distlock::Line {
 public:
  explicit StarvedLine(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  Standing stand(std::string_view name, const Claim& claim) override {
    Standing standing = inner_->line()->stand(name, claim);
    if (std::exchange(stand_starves, false)) throw std::bad_alloc();
    if (++stands == answers_nothing_at) return {};
    return standing;
  }
  void leave(std::string_view name, const Token& ticket) override {
    if (leave_starves) throw std::bad_alloc();
    inner_->line()->leave(name, ticket);
  }
  Freed release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) override {
    return inner_->line()->release_and_tell(name, ts, rule);
  }
  void ring(std::string_view name, const std::vector<std::string>& processes) override {
    inner_->line()->ring(name, processes);
  }
  Listing list_waits(const std::vector<std::string>& names) override {
    return inner_->line()->list_waits(names);
  }
  std::shared_ptr<void> listen(std::string_view process, Rung rung) override {
    return inner_->line()->listen(process, std::move(rung));
  }

  bool stand_starves = false;
  bool leave_starves = true;
  int stands = 0;
  int answers_nothing_at = 0;

 private:
  const std::shared_ptr<Store> inner_;
};

struct Starved : FaultyStore {
  explicit Starved(const std::shared_ptr<Store>& inner) : FaultyStore(inner), starved_line(inner) {}
  distlock::Line* line() override { return &starved_line; }
  StarvedLine starved_line;
};

}  // namespace

TEST_CASE("want of memory for giving a place up ends no process", "[waiting][R8]") {
  Fleet fleet;
  const auto holder = fleet.process("b").lock("jobs");
  REQUIRE(holder->lock_try("long"));
  const auto a = fleet.process_with(std::make_shared<Starved>(fleet.store), "a");
  const auto lock = a.lock("jobs");
  lock->on_waiting([](const WaitReport&) { throw std::runtime_error("the wait ends"); });
  CHECK_THROWS_AS(lock->try_lock_for(1min), std::runtime_error);
}

TEST_CASE("a wait whose store has not looked still gives its earlier place up",
          "[waiting][R17][R18]") {
  Fleet fleet;
  const auto holder = fleet.process("b").lock("jobs");
  REQUIRE(holder->lock_try("long"));
  const auto store = std::make_shared<Starved>(fleet.store);
  store->starved_line.leave_starves = false;
  store->starved_line.answers_nothing_at = 2;
  const auto a = fleet.process_with(store, "a");
  const auto lock = a.lock("jobs");
  std::stop_source stop;
  int looks = 0;
  store->during_each_call([&](const std::string& call) {
    if (call != "inspect") return;
    const auto line = fleet.stored("jobs").line;
    // So that it stands once more.
    if (++looks == 1) fleet.store->line()->leave("jobs", line.front().ticket);
    if (looks == 4) stop.request_stop();
  });
  CHECK_FALSE(lock->lock(stop.get_token()));
  store->during_each_call({});
  CHECK(store->starved_line.stands == 2);
  a.pinger->ping_round();
  CHECK(fleet.stored("jobs").line.empty());
}

TEST_CASE("a place that an exception hid is freed later", "[waiting][R8][R18]") {
  Fleet fleet;
  const auto store = std::make_shared<Starved>(fleet.store);
  store->starved_line.stand_starves = true;
  const auto a = fleet.process_with(store, "a");
  const auto lock = a.lock("jobs");
  CHECK_THROWS_AS(lock->try_lock_for(5s), std::bad_alloc);
  REQUIRE(fleet.stored("jobs").taken());
  CHECK(a.pinger->stats().pending_releases == 1);
  store->fail("holds", Fault::rejected);  // The round would find a stray hold by itself.
  a.pinger->ping_round();
  CHECK_FALSE(fleet.stored("jobs").taken());
}
