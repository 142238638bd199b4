#include <catch2/catch.hpp>
#include <future>
#include <stdexcept>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "support/captured_log.h"
#include "support/faulty_store.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A lock whose deadline really comes when pings end, and who is told of it.
struct Holder {
  Holder() {
    lock.on_lost([this](LossReason reason) { told.set_value(reason); });
    if (!lock.lock_try("x")) throw std::runtime_error("it is busy");
  }

  bool is_told_in_time() {
    auto reason = told.get_future();
    // The window ends 225 ms after the deadline; a machine with much to do is late by itself.
    return reason.wait_for(20s) == std::future_status::ready &&
           reason.get() == LossReason::deadline_passed;
  }

  std::shared_ptr<FaultyStore> store =
      std::make_shared<FaultyStore>(make_memory_store(host_clock(), {.call_limit = 100ms}));
  std::shared_ptr<DistributedLockPinger> pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = store}, PingerOptions{.ping_every = 20ms});
  std::promise<LossReason> told;
  DistributedLock lock{pinger, "balancer", {.takeover_after = 1s}};
};

}  // namespace

TEST_CASE("a ping that hangs does not hold up the announcement", "[lifetime][R9][threads]") {
  std::promise<void> goes_on;
  Holder holder;
  holder.store->before("ping", [&] { goes_on.get_future().wait(); });
  CHECK(holder.is_told_in_time());
  goes_on.set_value();
}

TEST_CASE("a log sink that blocks does not hold up the announcement", "[lifetime][R9][threads]") {
  Holder holder;
  {
    Captured log;
    Blocked blocked(log);
    blocked.wait_for_a_record();
    holder.store->fail("ping", Fault::rejected, 1'000'000);
    CHECK(holder.is_told_in_time());
  }
  CHECK_FALSE(holder.lock.held());
}
