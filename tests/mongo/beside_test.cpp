#include <catch2/catch.hpp>
#include <cstdlib>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "mongo/shard.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// One member of each set is never elected away, so that linearizable reads are the truth, and all
// clocks are one host's.

namespace {

constexpr auto kPatience = 300s;

/// Locks of ours on the config server's own `config` database.
struct Ours {
  explicit Ours(const Shard& shard, const StoreOptions& calls = {}, const PingerOptions& pings = {})
      : pinger(std::make_shared<DistributedLockPinger>(
            Environment{.store = open_store(shard.connection(), calls)}, pings)) {}

  DistributedLock lock(const std::string& collection, const LockOptions& options = {}) const {
    return {pinger, Shard::lock_of(collection), options};
  }

  std::shared_ptr<DistributedLockPinger> pinger;
};

const Value* field(const std::optional<Document>& document, std::string_view name) {
  for (const auto& [key, value] : document.value()) {
    if (key == name) return &value;
  }
  return nullptr;
}

bool has_ended(const std::future<bool>& operation) {
  return operation.wait_for(0s) == std::future_status::ready;
}

LockRecord stored(const Ours& ours, const std::string& collection) {
  return ours.pinger->store().inspect(Shard::lock_of(collection), Freshness::fresh).lock.value();
}

void wait_until_shard_holds(const Ours& ours, const std::string& collection) {
  wait_until("the shard's hold", [&] {
    const auto lock =
        ours.pinger->store().inspect(Shard::lock_of(collection), Freshness::ordinary).lock;
    return lock && lock->process == kShard && lock->taken();
  });
}

struct Turns {
  int ours = 0;
  int shards = 0;
  int overlaps = 0;
};

// By the config server's own record of its writes.
Turns turns_in(const std::vector<Shard::Change>& changes) {
  Turns turns;
  std::string process;
  bool taken = false;
  for (const auto& change : changes) {
    if (!change.process.empty()) process = change.process;
    if (change.state != 0) {
      ++(process == kShard ? turns.shards : turns.ours);
      turns.overlaps += taken ? 1 : 0;
    }
    taken = change.state != 0;
  }
  return turns;
}

// So that a test can be repeated on the same servers.
std::string new_collection() {
  return "c" + std::to_string(host_clock()->steady_now().time_since_epoch().count());
}

int alternations() {
  const char* number = std::getenv("DISTLOCK_ALTERNATIONS");
  return number == nullptr ? 10 : std::atoi(number);
}

}  // namespace

TEST_CASE("a hold of ours keeps MongoDB's own operation waiting, and our fields stay",
          "[mongo][R1][R10]") {
  Shard shard;
  const Ours ours(shard);
  const std::string name = new_collection();
  DistributedLock lock = ours.lock(name);
  REQUIRE(lock.lock_try("test"));
  auto operation = shard.create(name);
  shard.wait_for_database_lock();
  shard.wait_for_attempts();
  CHECK_FALSE(has_ended(operation));
  CHECK_FALSE(shard.has(name));
  CHECK(lock.still_held());
  CHECK(lock.unlock() == UnlockResult::released);
  CHECK(operation.get());
  CHECK(shard.has(name));
  wait_until("the shard's release", [&] { return !stored(ours, name).taken(); });
  const LockRecord after = stored(ours, name);
  CHECK(after.process == kShard);
  CHECK(after.fence == 1);
  CHECK(after.takeover_after == lock.options().takeover_after);
}

TEST_CASE("a hold of MongoDB's own keeps us out, and we leave its fields alone",
          "[mongo][R1][R6]") {
  Shard shard;
  const Ours ours(shard);
  const std::string name = new_collection();
  shard.hold_on();
  auto operation = shard.create(name);
  wait_until_shard_holds(ours, name);
  DistributedLock lock = ours.lock(name);
  LockRecord other;
  CHECK_FALSE(lock.lock_try("test", &other));
  CHECK(other.process == kShard);
  CHECK(other.state == LockState::taken_by_mongodb);
  CHECK(other.why == "createCollection_V2");
  const auto seen = ours.pinger->store().inspect(lock.name(), Freshness::fresh);
  REQUIRE(seen.ping);
  CHECK_FALSE(seen.ping->clock);
  shard.let_go();
  CHECK(lock.try_lock_for(kPatience));
  CHECK(operation.get());
  CHECK(lock.fence() == 1);
  CHECK(field(shard.config().raw("locks", lock.name()), "term") != nullptr);
}

TEST_CASE("a shard that was killed is taken over after the window, and finds its lock taken",
          "[mongo][R6]") {
  Shard shard;
  const Ours ours(shard, {.call_limit = 3s}, {.ping_every = 1s});
  const std::string name = new_collection();
  shard.hold_on();
  auto operation = shard.create(name);
  wait_until_shard_holds(ours, name);
  shard.kill();
  CHECK_FALSE(operation.get());
  constexpr auto kWindow = 20s;
  DistributedLock lock = ours.lock(name, {.takeover_after = kWindow});
  const auto before = ours.pinger->store().inspect(lock.name(), Freshness::fresh);
  REQUIRE(lock.try_lock_for(kPatience));
  CHECK(lock.record().when.value() - before.ping.value().ping >= kWindow);
  shard.bring_back();
  // It frees what it held before, and that is not ours.
  operation = shard.create(name);
  shard.wait_for_database_lock();
  shard.wait_for_attempts();
  CHECK_FALSE(shard.has(name));
  CHECK(stored(ours, name).ts == lock.record().ts);
  lock.unlock();
  CHECK(operation.get());
}

TEST_CASE("ours and MongoDB's own take turns, and never hold together", "[mongo][R1][R2]") {
  Shard shard;
  const Ours ours(shard);
  const std::string name = new_collection();
  DistributedLock lock = ours.lock(name);
  REQUIRE(lock.lock_try("test"));
  for (int i = 0; i < alternations(); ++i) {
    auto operation = shard.create(name);
    shard.wait_for_database_lock();
    REQUIRE(lock.unlock() == UnlockResult::released);
    REQUIRE(lock.try_lock_for(kPatience));
    if (!has_ended(operation)) {  // We have won again, or it is about to end.
      REQUIRE(lock.unlock() == UnlockResult::released);
      operation.wait();
      REQUIRE(lock.try_lock_for(kPatience));
    }
    CHECK(operation.get());
  }
  REQUIRE(lock.unlock() == UnlockResult::released);
  const Turns turns = turns_in(shard.changes_of(lock.name()));
  CHECK(turns.overlaps == 0);
  CHECK(turns.shards == alternations());
  CHECK(turns.ours > alternations());
}

// The next two take a quarter of an hour each: beside_tests '[by-hand]'. Their tag hides them.

TEST_CASE("MongoDB takes a dead hold of ours over after fifteen minutes", "[.][by-hand]") {
  Shard shard;
  const Ours ours(shard);
  const std::string name = new_collection();
  DistributedLock lock = ours.lock(name);
  REQUIRE(lock.lock_try("test"));
  ours.pinger->stop();
  const auto before = ours.pinger->store().inspect(lock.name(), Freshness::fresh);
  // One gives up after five minutes. The next is judged by what all of them have seen.
  auto operation = shard.create(name);
  const auto taken_over = [&] {
    if (has_ended(operation)) operation = shard.create(name);
    return stored(ours, name).process == kShard;
  };
  wait_until("the shard's takeover", taken_over, 30min);
  const auto silence = stored(ours, name).when.value() - before.ping.value().ping;
  WARN("taken over after " << silence.count() << " ms");
  CHECK(silence >= 15min);
  CHECK(stored(ours, name).fence == 1);
  operation.wait();
}

TEST_CASE("a shard that lives is never taken over", "[.][by-hand][R6]") {
  Shard shard;
  const Ours ours(shard);
  const std::string name = new_collection();
  shard.hold_on();
  auto operation = shard.create(name);
  wait_until_shard_holds(ours, name);
  DistributedLock lock = ours.lock(name, {.takeover_after = 2min});
  CHECK_FALSE(lock.try_lock_for(20min));
  CHECK(stored(ours, name).process == kShard);
  shard.let_go();
  operation.wait();
}
