// A SQLite file after a power failure: the file and its log as they were at the last sync.
#include <functional>

#include "distlock/distributed_lock.h"
#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const LockOptions kShort{.takeover_after = 3s};
constexpr StoreOptions kCalls{.call_limit = 300ms};

// A disk that has what was synced, and nothing written since.
struct Machine {
  Machine() { keep_what_is_synced(); }

  void keep_what_is_synced() const {
    for (const char* const part : {"", "-wal"}) {
      fs::copy_file(path.string() + part, disk.string() + part,
                    fs::copy_options::overwrite_existing);
    }
  }
  /// The file as the machine finds it when it has power again.
  fs::path after_power_loss() const {
    const fs::path found = folder.path() / "found.db";
    for (const char* const part : {"", "-wal"}) {
      fs::copy_file(disk.string() + part, found.string() + part);
    }
    return found;
  }

  static std::shared_ptr<DistributedLockPinger> pinger(std::shared_ptr<Store> store,
                                                       const std::string& process) {
    return std::make_shared<DistributedLockPinger>(
        Environment{.store = std::move(store), .process = process},
        PingerOptions{.ping_every = 300ms}, PingerDrive::caller);
  }

  TemporaryFolder folder;
  fs::path path = folder.path() / "locks.db";
  fs::path disk = folder.path() / "disk.db";
  std::shared_ptr<Store> store = open_at(path, kCalls);
  std::shared_ptr<DistributedLockPinger> holder = pinger(store, "holder");
  DistributedLock lock{holder, "jobs", kShort};
  AtSync each_sync{[this] { keep_what_is_synced(); }};
};

}  // namespace

TEST_CASE("a release waits for no disk, and a claim for one sync", "[sqlite][R3][cost]") {
  Machine machine;
  REQUIRE(machine.lock.lock_try("first"));
  const int begun = syncs();
  CHECK(machine.lock.unlock() == UnlockResult::released);
  CHECK(syncs() == begun);
  REQUIRE(machine.lock.lock_try("second"));
  CHECK(syncs() == begun + 1);
}

TEST_CASE("a release that a power failure undoes costs its lock a window, and no fence",
          "[sqlite][R3][R10]") {
  Machine machine;
  REQUIRE(machine.lock.lock_try("first"));
  CHECK(machine.lock.unlock() == UnlockResult::released);

  const auto found = open_at(machine.after_power_loss(), kCalls);
  DistributedLock rival(Machine::pinger(found, "rival"), "jobs", kShort);
  LockRecord other;
  CHECK_FALSE(rival.lock_try("at once", &other));
  CHECK(other.process == "holder");
  REQUIRE(rival.try_lock_for(1min));
  CHECK(rival.fence() == 2);
}

TEST_CASE("a durable write of a process takes its releases along", "[sqlite][R3]") {
  Machine machine;
  REQUIRE(machine.lock.lock_try("first"));
  CHECK(machine.lock.unlock() == UnlockResult::released);
  int fence = 1;
  SECTION("a ping") { machine.holder->ping_round(); }
  SECTION("the removal of its ping") { machine.holder->stop(); }
  SECTION("the next claim") {
    REQUIRE(machine.lock.lock_try("second"));
    fence = 2;
  }
  SECTION("a claim of another lock") {
    DistributedLock other(machine.holder, "other", kShort);
    REQUIRE(other.lock_try("first"));
  }
  const auto found = open_at(machine.after_power_loss());
  const auto seen = found->inspect("jobs", Freshness::fresh).lock;
  REQUIRE(seen);
  CHECK(seen->fence == fence);
  CHECK(seen->taken() == (fence == 2));
}

TEST_CASE("a durable release is there after a power failure", "[sqlite][R3]") {
  Machine machine;
  LockOptions options = kShort;
  options.release_rule = ReleaseRule::durable;
  DistributedLock lock(machine.holder, "sure", options);
  REQUIRE(lock.lock_try("first"));
  CHECK(lock.unlock() == UnlockResult::released);
  const auto found = open_at(machine.after_power_loss());
  const auto seen = found->inspect("sure", Freshness::fresh).lock;
  REQUIRE(seen);
  CHECK_FALSE(seen->taken());
}
