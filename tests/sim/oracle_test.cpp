#include "sim/oracle.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace distlock::sim;
using namespace std::chrono_literals;

namespace {

// A process "p" that was granted the lock "jobs" and believes so.
struct Scene {
  Scene() {
    oracle.pinged("p", Time{0});
    StoredLock taken{.exists = true, .taken = true, .process = "p", .ts = ts, .fence = 1};
    taken.takeover_after = 60s;
    oracle.lock_changed({"p", "claim"}, "jobs", {}, taken);
    oracle.granted({.lock = "jobs", .process = "p", .ts = ts, .fence = 1}, Time{0});
  }
  void pass(Time time) {
    scheduler.run(scheduler.now() + time, [] { return false; });
  }
  bool is_stray() {
    oracle.check_nothing_is_stray([](const std::string&) { return true; }, 10s);
    return oracle.violation().has_value();
  }

  const Token ts{{1}};
  Scheduler scheduler{1};
  Oracle oracle{scheduler};
};

}  // namespace

TEST_CASE("a hold that somebody counts on is no stray", "[sim]") {
  Scene scene;
  scene.pass(60s);
  CHECK_FALSE(scene.is_stray());
}

TEST_CASE("a hold becomes a stray once its release can no longer arrive", "[sim]") {
  Scene scene;
  scene.pass(60s);
  scene.oracle.gave_up(scene.ts, 1);
  scene.pass(10s - 1ns);
  CHECK_FALSE(scene.is_stray());
  scene.pass(1ns);
  CHECK(scene.is_stray());
}

TEST_CASE("a hold that nobody was ever told of is a stray after a while", "[sim]") {
  Scene scene;
  scene.oracle.died("p");
  scene.pass(10s);
  CHECK(scene.is_stray());
}

TEST_CASE("a lock was busy on a member that got data in which it is taken", "[sim][M6]") {
  Scene scene;
  scene.oracle.lock_changed({"p", "release"}, "jobs", {.exists = true, .taken = true},
                            {.exists = true});
  scene.pass(1s);
  const Time asked = scene.scheduler.now();
  CHECK_FALSE(scene.oracle.was_busy("jobs", asked));
  scene.oracle.became("jobs", {.exists = true, .taken = true, .process = "q"});
  CHECK(scene.oracle.was_busy("jobs", asked));
  scene.oracle.became("jobs", {});
  scene.pass(1s);
  CHECK_FALSE(scene.oracle.was_busy("jobs", scene.scheduler.now()));
}

TEST_CASE("still_held() is judged by what a process can have heard", "[sim][M6]") {
  Scene scene;
  scene.oracle.judge_a_mirrored_store([](const Belief&) { return false; },
                                      [](const std::string&, Time) { return true; });
  const StoredLock taken{.exists = true, .taken = true, .process = "p", .ts = scene.ts, .fence = 1};
  const Belief belief{.lock = "jobs", .process = "p", .ts = scene.ts, .fence = 1};
  scene.oracle.majority_carries("jobs", {}, taken);
  scene.pass(1s);
  scene.oracle.still_held_said(belief, scene.scheduler.now(), true);
  CHECK_FALSE(scene.oracle.violation());
  scene.oracle.majority_carries("jobs", {}, {});
  scene.pass(1s);
  scene.oracle.still_held_said(belief, scene.scheduler.now(), true);
  CHECK(scene.oracle.violation());
}

TEST_CASE("a grant that an outsider undid on its way ends no rival's hold", "[sim][M3]") {
  const bool undone = GENERATE(true, false);
  Scene scene;
  scene.oracle.judge_a_mirrored_store([](const Belief&) { return false; },
                                      [](const std::string&, Time) { return true; });
  Told told{.times = 0, .could_have_been = [] { return true; }};
  const Token later{{2}};
  const StoredLock taken{
      .exists = true, .taken = true, .process = "rival", .ts = later, .fence = 2};
  scene.oracle.claim_of_member(taken);
  const Token late{{3}};
  StoredLock broken{.exists = true, .taken = true, .process = "late", .ts = late, .fence = 3};
  scene.oracle.claim_of_member(broken);
  if (undone) scene.oracle.touched("jobs", broken, {});
  scene.oracle.gave_up(scene.ts, 1);
  scene.oracle.granted({.lock = "jobs", .process = "rival", .ts = later, .fence = 2, .told = &told},
                       Time{0});
  scene.oracle.granted({.lock = "jobs", .process = "late", .ts = late, .fence = 3}, Time{0});
  CHECK(scene.oracle.violation().has_value() != undone);
}

TEST_CASE("fences grow from grant to grant, but for one that ended in a pause of its call",
          "[sim][R10]") {
  const bool ended = GENERATE(true, false);
  Scene scene;
  scene.oracle.judge_a_mirrored_store([](const Belief&) { return false; },
                                      [](const std::string&, Time) { return true; });
  const auto claim = [&](const Token& ts, Fence fence) {
    scene.oracle.claim_of_member(
        {.exists = true, .taken = true, .process = "q", .ts = ts, .fence = fence});
  };
  const auto grant = [&](const Token& ts, Fence fence, bool on_the_way) {
    scene.oracle.granted(
        {.lock = "jobs", .process = "q", .ts = ts, .fence = fence, .ended_on_the_way = on_the_way},
        Time{0});
  };
  claim(Token{{2}}, 2);
  claim(Token{{3}}, 3);
  scene.oracle.gave_up(scene.ts, 1);
  grant(Token{{3}}, 3, false);
  CHECK_FALSE(scene.oracle.violation().has_value());
  grant(Token{{2}}, 2, ended);
  CHECK(scene.oracle.violation().has_value() != ended);
}

TEST_CASE("a claim that was refused before the lock was touched may come again", "[sim][R8]") {
  const bool touched_before_it = GENERATE(true, false);
  Scene scene;
  const StoredLock taken{
      .exists = true, .taken = true, .process = "p", .ts = Token{{7}}, .fence = 1};
  scene.oracle.touched("other", {}, {});
  const int refusal = scene.oracle.refusal();
  if (!touched_before_it) scene.oracle.touched("other", {}, {});
  scene.oracle.refused(Token{{7}}, refusal);
  scene.oracle.pinged("p", Time{0});
  scene.oracle.lock_changed({.process = "p", .call = "claim"}, "other", {}, taken);
  CHECK(scene.oracle.violation().has_value() == touched_before_it);
}

TEST_CASE("an unlock of a hold that nobody else could end yet is not said to be not ours",
          "[sim][R3]") {
  const bool in_time = GENERATE(true, false);
  const bool touched = GENERATE(true, false);
  Scene scene;
  const bool on_few_members = GENERATE(true, false);
  if (touched && on_few_members) scene.oracle.names_another(scene.ts);
  if (touched && !on_few_members) scene.oracle.excuse(scene.ts);
  scene.oracle.unlocked("other", scene.ts, 1, {UnlockResult::released, in_time});
  CHECK_FALSE(scene.oracle.violation());
  scene.oracle.unlocked("other", scene.ts, 1, {UnlockResult::not_ours, in_time});
  CHECK(scene.oracle.violation().has_value() == (in_time && !touched));
}

TEST_CASE("a claim that an undone release made refused may come again when it is released anew",
          "[sim][R8]") {
  const bool undone = GENERATE(true, false);
  Scene scene;
  const StoredLock held{
      .exists = true, .taken = true, .process = "p", .ts = Token{{7}}, .fence = 1};
  const StoredLock again{
      .exists = true, .taken = true, .process = "p", .ts = Token{{8}}, .fence = 2};
  StoredLock free = held;
  free.taken = false;
  scene.oracle.pinged("p", Time{0});
  scene.oracle.lock_changed({.process = "p", .call = "claim"}, "other", {}, held);
  if (undone) scene.oracle.release_undone(Token{{7}});
  scene.oracle.refused(Token{{8}}, scene.oracle.refusal());
  scene.oracle.lock_changed({.process = "p", .call = "release"}, "other", held, free);
  scene.oracle.lock_changed({.process = "p", .call = "claim"}, "other", free, again);
  CHECK(scene.oracle.violation().has_value() == !undone);
}
