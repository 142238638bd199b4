#include "stores/mongodb/mongo_room.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <vector>

#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

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
