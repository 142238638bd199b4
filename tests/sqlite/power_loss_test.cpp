// A SQLite file after a power failure: the file and its log as they were at the last sync.
#include <functional>
#include <set>

#include "distlock/distributed_lock.h"
#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

const LockOptions kShort{.takeover_after = 12s};
constexpr StoreOptions kCalls{.call_limit = 1s};

// A disk that has what was synced, and nothing written since: of each file what is in it, of the
// folder which files there are.
struct Disk {
  Disk() {
    fs::create_directory(path.parent_path());
    fs::create_directory(kept);
  }

  void keep(int synced) {
    const fs::path file = fs::read_symlink("/proc/self/fd/" + std::to_string(synced));
    if (file == path.parent_path()) {
      names.clear();
      for (const auto& entry : fs::directory_iterator(file)) {
        if (entry.is_regular_file()) names.insert(entry.path().filename());
      }
    } else if (file.parent_path() == path.parent_path()) {
      fs::copy_file(file, kept / file.filename(), fs::copy_options::overwrite_existing);
    }
  }
  /// The file as the machine finds it when it has power again.
  fs::path after_power_loss() const {
    const fs::path found = folder.path() / "found";
    fs::create_directory(found);
    for (const fs::path& name : names) {
      if (fs::exists(kept / name)) fs::copy_file(kept / name, found / name);
    }
    return found / path.filename();
  }

  TemporaryFolder folder;
  fs::path path = folder.path() / "running" / "locks.db";
  fs::path kept = folder.path() / "kept";
  std::set<fs::path> names;
  AtSync each_sync{[this](int synced) { keep(synced); }};
};

struct Machine : Disk {
  static std::shared_ptr<DistributedLockPinger> pinger(std::shared_ptr<Store> store,
                                                       const std::string& process) {
    return std::make_shared<DistributedLockPinger>(
        Environment{.store = std::move(store), .process = process}, PingerOptions{.ping_every = 1s},
        PingerDrive::caller);
  }

  std::shared_ptr<Store> store = open_at(path, kCalls);
  std::shared_ptr<DistributedLockPinger> holder = pinger(store, "holder");
  DistributedLock lock{holder, "jobs", kShort};
};

std::shared_ptr<Store> open_unsynced(const fs::path& path) {
  return open_at(path.string() + "?synchronous=off");
}

// More often than SQLite writes before it moves its log into the file.
void ping_often(Store& store) {
  for (int ping = 0; ping != 1500; ++ping) store.ping("another");
}

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

TEST_CASE("synced writes survive a power failure beside a process that syncs nothing",
          "[sqlite][R6][R8]") {
  Disk disk;
  const bool made_by_it = GENERATE(false, true);
  const bool log_begins_anew = GENERATE(false, true);
  CAPTURE(made_by_it, log_begins_anew);
  std::shared_ptr<Store> store;
  if (!made_by_it) store = open_at(disk.path);
  const auto unsynced = open_unsynced(disk.path);
  if (made_by_it) store = open_at(disk.path);
  CHECK(held(*store, "jobs").fence == 1);
  if (log_begins_anew) {
    ping_often(*unsynced);
    store->ping("holder");
  }

  const auto found = open_at(disk.after_power_loss());
  const auto seen = found->inspect("jobs", Freshness::fresh).lock;
  REQUIRE(seen);
  CHECK(seen->taken());
  CHECK(seen->fence == 1);
}

TEST_CASE("a file opened with synchronous=off waits for no disk at a write", "[sqlite][cost]") {
  Disk disk;
  const auto unsynced = open_unsynced(disk.path);
  unsynced->ping("holder");  // Makes the witnesses' file, once.
  const int begun = syncs();
  held(*unsynced, "jobs");
  unsynced->ping("holder");
  CHECK(syncs() == begun);
}
