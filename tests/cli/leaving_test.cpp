#include "cli/leaving.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "distlock/stores.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

TEST_CASE("of stores that are opened one after the other only the last is kept", "[cli]") {
  const auto kept = [] {
    auto store = make_memory_store();
    std::weak_ptr<Store> seen = store;
    keep_until_left(std::move(store));
    return seen;
  };
  const std::weak_ptr<Store> earlier = kept();
  const std::weak_ptr<Store> last = kept();
  // It ends on another thread.
  const auto end = std::chrono::steady_clock::now() + 1min;
  while (!earlier.expired() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  CHECK(earlier.expired());
  CHECK_FALSE(last.expired());
}
