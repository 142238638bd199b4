// Threads that are interrupted while they wait for the disk.
#include <atomic>
#include <boost/thread/thread.hpp>

#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("a thread that is interrupted while another syncs learns what became of its claim",
          "[sqlite][R8]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_at(path, {.call_limit = 1min});
  const auto others = open_at(path);
  const auto claims = [&](const char* name) {
    return store->claim(name, FromAbsent{}, claim_by(*store, "holder")).has_value();
  };
  const auto is_there = [&](const char* name) {
    return others->inspect(name, Freshness::ordinary).lock.has_value();
  };
  std::atomic<bool> granted = false;
  const HeldSyncs held;
  boost::thread syncing([&] { claims("first"); });
  REQUIRE(comes([&] { return held.begun() == 1; }));
  boost::thread waiting([&] { granted = claims("second"); });
  REQUIRE(comes([&] { return is_there("second"); }));
  waiting.interrupt();
  HeldSyncs::let_all_go();
  waiting.join();
  syncing.join();
  CHECK(granted);
}
