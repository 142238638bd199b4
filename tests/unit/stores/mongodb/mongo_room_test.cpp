#include "stores/mongodb/mongo_room.h"

#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <vector>

#include "support/asleep.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Calls of a room that has place for one, each in a thread of its own.
class Calls {
 public:
  ~Calls() { threads_.join_all(); }

  /// A call of which it is known that it waits for its place.
  void wait_for_place(const std::function<void()>& inside) {
    last_ = 0;
    threads_.create_thread([this, inside] {
      last_ = gettid();
      const MongoRoom::Place place = room.enter();
      inside();
    });
    await_sleep(last_);
  }

  MongoRoom room{1, 1min};

 private:
  std::atomic<pid_t> last_ = 0;
  boost::thread_group threads_;
};

}  // namespace

TEST_CASE("a call that finds no place in time is an error, and takes none later", "[mongo][R9]") {
  MongoRoom room(1, 1ms);
  MongoRoom::Place place = room.enter();
  CHECK(thrown_by([&] { room.enter(); }) == Errc::not_applied);
  place.reset();
  CHECK_FALSE(thrown_by([&] { room.enter(); }));
}

TEST_CASE("a place that is left goes to a call that waits for it", "[mongo][R9]") {
  MongoRoom room(2, 1min);
  std::vector<boost::thread> threads;
  for (int thread = 0; thread != 8; ++thread) {
    threads.emplace_back([&] {
      for (int call = 0; call != 1000; ++call) room.enter();
    });
  }
  for (boost::thread& thread : threads) thread.join();
  const MongoRoom::Place first = room.enter();
  const MongoRoom::Place second = room.enter();
  CHECK(second);
}

TEST_CASE("calls that wait for a place get it in the order in which they came",
          "[mongo][R9][threads]") {
  const std::vector<int> order{0, 1, 2, 3};
  std::vector<int> seen;  // Changed by the call that has the place.
  {
    Calls calls;
    const MongoRoom::Place place = calls.room.enter();
    for (const int call : order) {
      calls.wait_for_place([&seen, call] { seen.push_back(call); });
    }
  }
  CHECK(seen == order);
}

TEST_CASE("a call that is interrupted gets its place all the same", "[mongo][R9][threads]") {
  MongoRoom room(1, 1min);
  MongoRoom::Place place = room.enter();
  std::atomic<pid_t> id = 0;
  bool was_in = false;
  boost::thread call([&] {
    id = gettid();
    const MongoRoom::Place own = room.enter();
    was_in = true;
  });
  await_sleep(id);
  call.interrupt();
  place.reset();
  call.join();
  CHECK(was_in);
}

TEST_CASE("a call that comes as a place is left does not get it before one that waits",
          "[mongo][R9][threads]") {
  Calls calls;
  bool was_in = false;  // Changed by the call that has the place.
  MongoRoom::Place place = calls.room.enter();
  calls.wait_for_place([&was_in] { was_in = true; });
  place.reset();
  const MongoRoom::Place next = calls.room.enter();
  CHECK(was_in);
}
