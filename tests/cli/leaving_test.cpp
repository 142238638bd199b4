#include "cli/leaving.h"

#include <boost/log/core.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/make_shared.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "cli/error_pipe.h"
#include "cli/log_sink.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "log.h"
#include "support/faulty_store.h"
#include "support/forked_child.h"

using namespace distlock;
using namespace distlock::cli;
using distlock::cli::testing::ErrorPipe;
using distlock::testing::answer_of_child;
using distlock::testing::FaultyStore;
using namespace std::chrono_literals;

namespace {

/// A store at whose end something is ready.
struct EndingStore : FaultyStore {
  EndingStore() : FaultyStore(make_memory_store()) {}
  ~EndingStore() override { ended.set_value(); }
  std::promise<void> ended;
};

/// Writes no record before the tool parts with its store.
struct HeldBack : boost::log::sinks::basic_sink_backend<boost::log::sinks::synchronized_feeding> {
  explicit HeldBack(std::shared_future<void> until) : until_(std::move(until)) {}
  void consume(const boost::log::record_view& /*record*/) { until_.wait(); }

 private:
  std::shared_future<void> until_;
};

void hold_back_records_until_left() {
  auto store = std::make_shared<EndingStore>();
  const auto backend = boost::make_shared<HeldBack>(store->ended.get_future().share());
  boost::log::core::get()->add_sink(
      boost::make_shared<boost::log::sinks::synchronous_sink<HeldBack>>(backend));
  keep_until_left(std::move(store));
}

}  // namespace

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

TEST_CASE("a process that leaves a thread behind ends without what a program ends with", "[cli]") {
  constexpr int kLeft = 7;
  constexpr int kReturned = 8;
  const int status = answer_of_child([&] {
    keep_until_left(nullptr);
    leave_a_thread_behind();
    return leave(kLeft) == kLeft ? kReturned : 0;
  });
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == kLeft);
}

TEST_CASE("the last record of the library is written when a tool leaves",
          "[cli][log][unsanitized][R12]") {
  constexpr int kRecords = 300;
  const ErrorPipe error;
  const auto leaves = [] {
    set_log_level(LogLevel::debug);
    add_log_sink(Verbosity::verbose);
    hold_back_records_until_left();
    for (int i = 1; i <= kRecords; ++i) distlock::log::pinged(std::to_string(i), false);
    return distlock::cli::leave(0);
  };
  CHECK(answer_of_child(leaves) == 0);
  CHECK_THAT(error.written(), Catch::EndsWith("for: " + std::to_string(kRecords) + '\n'));
}
