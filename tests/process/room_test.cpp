// The room of the balancer demo, in which a second process shows.
#include "room.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <memory>
#include <string>

#include "support/temporary_folder.h"

using namespace std::chrono_literals;
using balancer::Entry;
using balancer::Room;

namespace {

constexpr const char* kLongAgo = "p1 1 00000000000000000001";
constexpr const char* kFarAhead = "p1 1 09000000000000000000";

/// A folder with a room, and a newcomer.
struct RoomScene {
  Entry entered() { return newcomer.enter("p2", 2, clock->steady_now() + 1h); }
  void put_mark(const std::string& mark) const { std::ofstream(folder.path() / "room") << mark; }

  distlock::testing::TemporaryFolder folder;
  std::shared_ptr<distlock::Clock> clock = distlock::host_clock();
  Room newcomer{folder.path(), *clock};
};

}  // namespace

TEST_CASE("a room of the demo that is empty takes one process", "[process]") {
  RoomScene scene;
  CHECK(scene.entered().found == Entry::Found::nobody);
  CHECK(scene.newcomer.leave());
}

TEST_CASE("a mark in a room that is just being made is somebody's", "[process]") {
  RoomScene scene;
  scene.put_mark(GENERATE("", "p1", "p1 1 "));
  CHECK(scene.entered().found == Entry::Found::somebody);
}

TEST_CASE("a mark in a room is left over once its time is over, or its process has ended",
          "[process]") {
  RoomScene scene;
  scene.put_mark(GENERATE(kLongAgo, kFarAhead));  // Nobody has locked either.
  CHECK(scene.entered().found == Entry::Found::leftover);
  CHECK(scene.newcomer.leave());
}

TEST_CASE("a mark in a room is somebody's as long as its process may act", "[process]") {
  RoomScene scene;
  Room first(scene.folder.path(), *scene.clock);
  REQUIRE(first.enter("p1", 1, scene.clock->steady_now() + 1h).found == Entry::Found::nobody);
  CHECK(scene.entered().found == Entry::Found::somebody);
  first.stay(scene.clock->steady_now());
  CHECK(scene.entered().found == Entry::Found::leftover);
  CHECK_FALSE(first.leave());  // It finds the mark of another.
}
