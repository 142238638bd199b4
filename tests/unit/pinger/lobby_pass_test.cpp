// Holds that go to a thread that waits in the lobby.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "distlock/stores.h"
#include "pinger/lobby.h"
#include "support/manual_clock.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

struct OneHeir : Heir {};

/// Three threads that wait for a lock, and whom the hold was offered to.
struct InTheLobby {
  bool pass_on(const std::vector<Heir*>& refused = {}) {
    return lobby.pass_on("jobs", [&](Heir& heir) -> std::optional<Pass> {
      offered.push_back(&heir);
      if (std::find(refused.begin(), refused.end(), &heir) != refused.end()) return std::nullopt;
      return Pass{.record = {.name = "jobs"}, .last = 4, .until = SteadyTime{2h}};
    });
  }

  std::shared_ptr<Store> store = make_memory_store(std::make_shared<ManualClock>());
  Lobby lobby{store, "a"};
  Lobby::Place first{lobby, "jobs"};
  Lobby::Place second{lobby, "jobs"};
  Lobby::Place third{lobby, "jobs"};
  OneHeir one;
  OneHeir two;
  OneHeir three;
  std::vector<Heir*> offered;
};

}  // namespace

TEST_CASE("a hold goes to the first thread that is open for it, and wakes that one alone",
          "[waiting][R21]") {
  InTheLobby it;
  CHECK_FALSE(it.pass_on());
  it.second.open(it.two);
  it.third.open(it.three);
  const std::stop_token first_woken = it.first.wake().arm();
  const std::stop_token second_woken = it.second.wake().arm();
  const std::stop_token third_woken = it.third.wake().arm();
  CHECK(it.pass_on());
  CHECK(it.offered == std::vector<Heir*>{&it.two});
  CHECK_FALSE(first_woken.stop_requested());
  CHECK(second_woken.stop_requested());
  CHECK_FALSE(third_woken.stop_requested());
  const auto pass = it.second.take_pass();
  REQUIRE(pass);
  CHECK(pass->last == 4);
  CHECK(pass->until == SteadyTime{2h});
  CHECK_FALSE(it.second.take_pass());
  CHECK_FALSE(it.third.take_pass());
}

TEST_CASE("a hold that an object cannot take goes to the next", "[waiting][R21]") {
  InTheLobby it;
  it.first.open(it.one);
  it.second.open(it.two);
  CHECK(it.pass_on({&it.one}));
  CHECK(it.offered == std::vector<Heir*>{&it.one, &it.two});
  CHECK(it.second.take_pass());
  CHECK(it.first.close());
  CHECK_FALSE(it.pass_on());
}

TEST_CASE("a thread that has got a hold is open for no other", "[waiting][R21]") {
  InTheLobby it;
  it.first.open(it.one);
  REQUIRE(it.pass_on());
  CHECK_FALSE(it.pass_on());
  it.first.open(it.one);
  CHECK_FALSE(it.pass_on());
  CHECK_FALSE(it.first.close());
  REQUIRE(it.first.take_pass());
  CHECK(it.first.close());
}

TEST_CASE("a thread that stands or has closed gets no hold from its process", "[waiting][R21]") {
  InTheLobby it;
  it.first.open(it.one);
  SECTION("it has closed") { CHECK(it.first.close()); }
  SECTION("it stands in the store's line") { it.first.stand(); }
  SECTION("it waits for another lock") {
    CHECK_FALSE(it.lobby.pass_on("other", [](Heir&) { return Pass{}; }));
    CHECK(it.first.close());
  }
  CHECK_FALSE(it.pass_on());
  CHECK(it.offered.empty());
}

TEST_CASE("a thread without a place or a hold is seen, and each by its own ticket",
          "[waiting][deadlock][R22]") {
  InTheLobby it;
  Lobby::Place elsewhere(it.lobby, "other");
  CHECK(it.lobby.hidden().empty());
  it.first.show("a:thread1");
  it.second.show("a:thread2");
  elsewhere.show("a:thread3");
  const auto all = it.lobby.hidden();
  REQUIRE(all.size() == 3);
  CHECK(all[1].lock == "jobs");
  CHECK(all[1].waiter.process == "a");
  CHECK(all[1].waiter.who == "a:thread2:0");
  CHECK(all[1].waiter.since == StoreTime::max());
  CHECK(all[1].waiter.ticket == it.second.made_up_ticket());
  CHECK(all[2].lock == "other");
  // In the order in which they came.
  CHECK(it.first.made_up_ticket() < it.second.made_up_ticket());
  CHECK(it.second.made_up_ticket() < elsewhere.made_up_ticket());

  it.first.open(it.one);
  REQUIRE(it.pass_on());
  it.second.stand();
  elsewhere.show({});
  CHECK(it.lobby.hidden().empty());
}

TEST_CASE("threads know until when a hold may be passed on to them", "[waiting][R21]") {
  InTheLobby it;
  CHECK(it.first.passing_until() == SteadyTime::min());
  it.lobby.set_passing("jobs", SteadyTime{2h});
  it.lobby.set_passing("other", SteadyTime{5h});
  CHECK(it.first.passing_until() == SteadyTime{2h});
  it.lobby.set_passing("jobs", SteadyTime{3h});
  CHECK(it.second.passing_until() == SteadyTime{3h});
  it.lobby.set_passing("jobs", SteadyTime::min());
  CHECK(it.second.passing_until() == SteadyTime::min());
  it.lobby.set_passing("jobs", SteadyTime::min());
  CHECK(it.second.passing_until() == SteadyTime::min());
}

TEST_CASE("a thread knows whether others of its process wait", "[waiting][R20]") {
  Lobby lobby(make_memory_store(std::make_shared<ManualClock>()), "a");
  const Lobby::Place first(lobby, "jobs");
  const Lobby::Place elsewhere(lobby, "other");
  CHECK_FALSE(first.others_wait());
  auto second = std::make_unique<Lobby::Place>(lobby, "jobs");
  CHECK(first.others_wait());
  second.reset();
  CHECK_FALSE(first.others_wait());
}

TEST_CASE("threads that have all stepped aside are all rung, and one that stands is first again",
          "[waiting][R19][R20]") {
  InTheLobby it;
  it.first.step_aside();
  it.second.step_aside();
  CHECK(it.third.first());
  it.third.step_aside();
  CHECK(it.first.first());
  CHECK(it.second.first());
  const std::vector tokens{it.first.wake().arm(), it.second.wake().arm(), it.third.wake().arm()};
  it.lobby.ring("jobs");
  for (const std::stop_token& token : tokens) CHECK(token.stop_requested());
  it.second.stand();
  CHECK(it.second.first());
  CHECK_FALSE(it.third.first());
}

TEST_CASE("a thread that has stepped aside rings nobody by stepping aside once more",
          "[waiting][R20]") {
  InTheLobby it;
  it.first.step_aside();
  const std::stop_token woken = it.second.wake().arm();
  it.first.step_aside();
  CHECK_FALSE(woken.stop_requested());
}

TEST_CASE("waits of a process have tickets of their own, in the order in which they came",
          "[waiting][deadlock][R22]") {
  Lobby lobby(make_memory_store(std::make_shared<ManualClock>()), "a");
  std::vector<Token> tickets;
  for (int i = 0; i < 600; ++i) {
    const Lobby::Place place(lobby, "jobs");
    tickets.push_back(place.made_up_ticket());
  }
  const auto not_before = [](const Token& one, const Token& next) { return !(one < next); };
  CHECK(std::adjacent_find(tickets.begin(), tickets.end(), not_before) == tickets.end());
}
