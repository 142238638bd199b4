// A hold on its way from one thread of a process to the next (R21): between the unlock of the one
// and the wake of the other.
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <latch>

#include "distlock/error.h"
#include "support/crowd.h"
#include "support/forked_child.h"
#include "support/pausing_clock.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// `first` holds by a claim for several. `last` waits behind it, on the same lock object or on one
// of its own, and stops as soon as it is woken.
struct OnTheWay {
  /// The lock object of the thread that waits last.
  enum class Object { of_its_own, of_the_first, of_a_stopped_wait };

  explicit OnTheWay(Object object = Object::of_its_own) {
    DistributedLock before(crowd.pinger, "jobs", patient_options());
    REQUIRE(before.lock_try("before"));
    const auto used = std::make_shared<DistributedLock>(crowd.pinger, "jobs", patient_options());
    if (object == Object::of_a_stopped_wait) wait_and_stop(*used);
    Candidate alone(crowd);
    crowd.wait_for_line(1);
    first = std::make_unique<Candidate>(crowd);
    last = std::make_unique<Candidate>(crowd, object == Object::of_the_first ? first->lock : used);
    REQUIRE(before.unlock() == UnlockResult::released);
    alone.hold();
    crowd.wait_for_line(1);
    REQUIRE(alone.give_up() == UnlockResult::released);
    hold = first->hold();
    const SteadyTime over = clock->steady_now() + 50ms;
    comes_to_be([&] { return clock->waits_until(last->id) == over; });
    clock->thread = last->id;
  }
  ~OnTheWay() { clock->go(); }
  OnTheWay(const OnTheWay&) = delete;
  OnTheWay& operator=(const OnTheWay&) = delete;

  void wait_and_stop(DistributedLock& lock) {
    std::stop_source stop;
    crowd.store->after("stand", [&] { stop.request_stop(); });
    REQUIRE_FALSE(lock.lock(stop.get_token()));
    crowd.pinger->ping_round();
    REQUIRE(crowd.stored().line.empty());
  }
  void set_out() {
    REQUIRE(first->give_up() == UnlockResult::released);
    clock->pauses.wait();
    REQUIRE(crowd.stored().taken());
  }
  /// Stops the pinger, and runs this when it calls the store for the last time.
  void stop_and_meanwhile(const std::function<void()>& action) {
    DistributedLock other(crowd.pinger, "other", patient_options());
    REQUIRE(other.lock_try("x"));
    crowd.store->before("release", [] { throw Error(Errc::permission_denied, "not now"); });
    REQUIRE(other.unlock() == UnlockResult::pending);
    crowd.store->before("release", action);
    crowd.pinger->stop();
  }
  std::optional<Errc> failure_of_last() {
    return thrown_by([&] { return last->hold(); });
  }

  const std::shared_ptr<PausingClock> clock = std::make_shared<PausingClock>();
  Crowd crowd{nullptr, clock};
  LockRecord hold;
  std::unique_ptr<Candidate> last;
  std::unique_ptr<Candidate> first;  // It ends before the last.
};

}  // namespace

TEST_CASE("a lock object to which a hold is on its way refuses other threads at once",
          "[waiting][R21][threads]") {
  OnTheWay way(GENERATE(OnTheWay::Object::of_its_own, OnTheWay::Object::of_the_first));
  way.set_out();
  const int calls = way.crowd.store->calls();
  CHECK_FALSE(way.last->lock->lock_try("x"));
  CHECK(way.crowd.store->calls() == calls);
  CHECK(way.last->lock->unlock() == UnlockResult::not_ours);
  way.clock->go();
  CHECK(way.last->hold().ts == way.hold.ts);
  CHECK(way.last->lock->held());
}

TEST_CASE("a hold passes by a thread whose lock object is busy", "[waiting][R21][threads]") {
  PassingScene scene;
  const LockRecord first = scene.first->hold();
  KeptTry trying(scene.crowd, *scene.second().lock);
  scene.first->give_up();
  comes_to_be([&] { return scene.second().has_it() || scene.third().has_it(); });
  const bool by_second = scene.second().has_it();
  trying.end();
  CHECK_FALSE(by_second);
  CHECK(scene.third().hold().ts == first.ts);
}

TEST_CASE("a hold that was lost on its way leaves no thread waiting for it",
          "[waiting][R9][R21][threads]") {
  OnTheWay way;
  // The round knows it as the first thread's, and finds it freed.
  way.crowd.store->before("holds", [&] {
    way.set_out();
    REQUIRE(way.crowd.inner->release("jobs", *way.hold.ts) == ReleaseResult::freed);
  });
  way.crowd.pinger->ping_round();
  way.clock->go();
  CHECK(way.last->hold().ts != way.hold.ts);
  CHECK(way.last->lock->held());
}

TEST_CASE("a thread that is woken after a stop takes no hold", "[waiting][R12][R21][threads]") {
  OnTheWay way;
  way.crowd.pinger->stop();
  way.clock->pauses.wait();
  CHECK(way.first->give_up() == UnlockResult::released);
  CHECK_FALSE(way.crowd.stored().taken());
  way.clock->go();
  CHECK(way.failure_of_last() == Errc::stopped);
}

TEST_CASE("a wait that could not give back what came to it too late says so when it fails",
          "[waiting][R8][R21][threads]") {
  OnTheWay way;
  way.set_out();
  way.clock->advance(20min);
  way.crowd.store->during_each_call([](const std::string& call) {
    throw Error(call == "release" ? Errc::permission_denied : Errc::not_applied, "not now");
  });
  way.clock->go();
  comes_to_be([&] {
    way.clock->advance(1s);
    return way.last->has_it();
  });
  way.crowd.store->during_each_call({});
  CHECK(way.failure_of_last() == Errc::outcome_unknown);
  CHECK(way.crowd.stored().ts == way.hold.ts);
  CHECK(way.crowd.pinger->stats().pending_releases == 1);
}

TEST_CASE(
    "a thread that is woken after a stop frees its hold, however its object's last wait ended",
    "[waiting][R12][R21][threads]") {
  OnTheWay way(OnTheWay::Object::of_a_stopped_wait);
  way.set_out();
  way.crowd.pinger->stop();
  way.crowd.store->fail("release", Fault::rejected, 3);
  way.clock->go();
  CHECK(way.failure_of_last() == Errc::stopped);
  CHECK_FALSE(way.crowd.stored().taken());
}

TEST_CASE("a stop leaves the ping while a hold that goes to no thread is being released",
          "[waiting][R7][R12][R21][threads]") {
  const bool had_set_out = GENERATE(true, false);
  OnTheWay way(OnTheWay::Object::of_the_first);
  if (had_set_out) way.set_out();
  std::latch releases(1);
  std::latch stopped(1);
  boost::thread giving_up;
  way.stop_and_meanwhile([&] {
    way.crowd.store->before("release", [&] {
      releases.count_down();
      stopped.wait();
    });
    if (had_set_out) way.clock->go();
    if (!had_set_out) giving_up = boost::thread([&] { way.first->give_up(); });
    releases.wait();
  });
  const bool taken = way.crowd.stored().taken();
  stopped.count_down();
  if (!had_set_out) giving_up.join();
  way.clock->go();
  CHECK(taken);
  CHECK(way.crowd.store->calls("remove_ping") == 0);
  CHECK(way.failure_of_last() == Errc::stopped);
  CHECK_FALSE(way.crowd.stored().taken());
}

TEST_CASE("a stop removes the ping once a hold on its way has been released",
          "[waiting][R12][R21][threads]") {
  OnTheWay way;
  way.set_out();
  way.stop_and_meanwhile([&] {
    way.clock->go();
    CHECK(way.failure_of_last() == Errc::stopped);
  });
  CHECK_FALSE(way.crowd.stored().taken());
  CHECK(way.crowd.store->calls("remove_ping") == 1);
}

TEST_CASE("a child that is forked while a hold is on its way leaves it to the parent",
          "[waiting][R16][R21][threads][forks]") {
  const auto clock = std::make_shared<PausingClock>();
  Crowd crowd(nullptr, clock);
  DistributedLock before(crowd.pinger, "jobs", patient_options());
  REQUIRE(before.lock_try("before"));
  Candidate alone(crowd);
  crowd.wait_for_line(1);
  Candidate first(crowd);
  DistributedLock lock(crowd.pinger, "jobs", patient_options());
  pid_t child = -1;
  int calls = 0;
  clock->then = [&] {
    calls = crowd.store->calls();
    child = fork();
    if (child == 0) alarm(60);
  };
  std::promise<std::thread::id> id;
  std::promise<Token> got;
  boost::thread waits([&] {
    id.set_value(std::this_thread::get_id());
    const auto failure = thrown_by([&] { return lock.lock(), 0; });
    if (child == 0) leave(failure == Errc::forked && crowd.store->calls() == calls ? 0 : 1);
    got.set_value(*lock.record().ts);
  });
  const std::thread::id last = id.get_future().get();
  comes_to_be([&] { return clock->waits(last); });
  REQUIRE(before.unlock() == UnlockResult::released);
  alone.give_up();
  const Token ts = *first.hold().ts;
  const SteadyTime over = clock->steady_now() + 50ms;
  comes_to_be([&] { return clock->waits_until(last) == over; });
  clock->thread = last;
  first.give_up();
  clock->pauses.wait();
  clock->go();
  CHECK(got.get_future().get() == ts);
  waits.join();
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
