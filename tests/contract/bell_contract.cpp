#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>

#include "contract/contract.h"
#include "distlock/line.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

// Keeps what one process hears.
class Listener {
 public:
  Listener(Store& store, std::string_view process)
      : listening_(store.line()->listen(process, [this](std::string_view name) {
          const boost::lock_guard<boost::mutex> lock(mutex_);
          heard_.emplace_back(name);
        })) {}

  bool heard(const std::string& name) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    return std::find(heard_.begin(), heard_.end(), name) != heard_.end();
  }

  void forget() {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    heard_.clear();
  }

 private:
  boost::mutex mutex_;
  std::vector<std::string> heard_;
  std::shared_ptr<void> listening_;  // Last, so that it ends first.
};

// Both locks are held by somebody.
void stand(Store& store, const std::string& name, const std::string& process) {
  REQUIRE(store.line()->stand(name, claim_by(store, process)).in_line);
}

// Rings again until it is heard: one that gets lost is no failure.
void ring_until_heard(Store& store, const std::string& name,
                      const std::vector<std::string>& processes, Listener& listener) {
  while (!listener.heard(name)) store.line()->ring(name, processes);
}

}  // namespace

TEST_CASE("a bell is heard by the process that it is for", "[store][line][R19]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  REQUIRE(store->line() != nullptr);
  held(*store, "jobs");
  held(*store, "more");
  Listener a(*store, "a");
  Listener b(*store, "b");
  stand(*store, "jobs", "a");
  stand(*store, "jobs", "b");
  stand(*store, "more", "b");
  ring_until_heard(*store, "jobs", {"a"}, a);
  ring_until_heard(*store, "more", {"a", "b"}, b);
  CHECK_FALSE(b.heard("jobs"));
}

// As the pingers of two stores of one process, or one listener that ends as the next begins.
TEST_CASE("each listener of a process hears its rings", "[store][line][R19]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  held(*store, "jobs");
  Listener first(*store, "a");
  Listener second(*store, "a");
  stand(*store, "jobs", "a");
  ring_until_heard(*store, "jobs", {"a"}, first);
  ring_until_heard(*store, "jobs", {"a"}, second);
}

TEST_CASE("a process that listens no more may listen again, and hears its rings",
          "[store][line][R19]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  for (const std::string name : {"first", "second", "third"}) {
    held(*store, name);
    Listener listener(*store, "a");
    stand(*store, name, "a");
    ring_until_heard(*store, name, {"a"}, listener);
  }
}

TEST_CASE("a ring gives no lock that is held, and no place away", "[store][line][R17][R19]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  const LockRecord holder = held(*store, "jobs");
  Listener listener(*store, "b");
  const Claim first = claim_by(*store, "a");
  const Claim second = claim_by(*store, "b");
  REQUIRE(store->line()->stand("jobs", first).in_line);
  REQUIRE(store->line()->stand("jobs", second).in_line);
  const auto line = store->inspect("jobs", Freshness::fresh).lock->line;

  ring_until_heard(*store, "jobs", {"b"}, listener);
  const Standing too_early = store->line()->stand("jobs", second);
  CHECK_FALSE(too_early.hold);
  CHECK(too_early.in_line);
  CHECK_FALSE(too_early.free);
  const auto lock = store->inspect("jobs", Freshness::fresh).lock;
  CHECK(lock->ts == holder.ts);
  CHECK(lock->line == line);

  store->line()->leave("jobs", first.ts);
  REQUIRE(store->line()->release_and_tell("jobs", *holder.ts, ReleaseRule::durable).next ==
          std::vector<std::string>{"b"});
  listener.forget();
  ring_until_heard(*store, "jobs", {"b"}, listener);
  const Standing in_turn = store->line()->stand("jobs", second);
  REQUIRE(in_turn.hold);
  CHECK(in_turn.hold->ts == second.ts);
  CHECK(in_turn.hold->fence == holder.fence + 1);
  CHECK_FALSE(in_turn.in_line);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->line.empty());
}

TEST_CASE("an interrupted thread may end a bell", "[store][line][R12][R19]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  bool ended = false;
  boost::thread thread([&] {
    auto listening = store->line()->listen("a", [](std::string_view) {});
    while (!boost::this_thread::interruption_requested()) boost::this_thread::yield();
    listening.reset();
    ended = true;
  });
  thread.interrupt();
  thread.join();
  CHECK(ended);
}
