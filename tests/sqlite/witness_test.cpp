// Holders of a SQLite file that are killed, stopped, or leave children behind (R23).
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/witness_scene.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_witness.h"
#include "support/descriptor_limit.h"
#include "support/once_of_six.h"
#include "support/sqlite_file.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

SqliteWitness witness_at(const fs::path& database) {
  return {database.string(), boot_clock().boot, WitnessRule::children};
}

}  // namespace

TEST_CASE("a holder that was killed is taken over at once", "[sqlite][R23]") {
  const Scene scene;
  const auto holder = scene.holder();
  CHECK(scene.tried() == 0);
  holder->end();
  CHECK(scene.tried() == 2);
}

TEST_CASE("a holder that is stopped keeps its lock", "[sqlite][R23][R1]") {
  const Scene scene;
  const auto holder = scene.holder();
  holder->send(SIGSTOP);
  holder->await_stop();
  CHECK(scene.tried() == 0);
  holder->end();
  CHECK(scene.tried() == 2);
}

TEST_CASE("waiters get the lock of holders that are killed, one after the other",
          "[sqlite][line][R23][R17][R19]") {
  const auto order = [] {
    const Scene scene;
    const auto holder = scene.holder();
    std::map<char, std::unique_ptr<Child>> waiters;
    for (const char number : {'1', '2', '3'}) waiters[number] = scene.waiter(number);
    holder->end();
    std::string got;
    while (got.size() < waiters.size()) {
      got += scene.told.next();
      REQUIRE(waiters.contains(got.back()));
      waiters[got.back()]->end();
    }
    return got;
  };
  CHECK(once_of_six(std::string("123"), order) == "123");
}

// Nobody had died when the first of them got the lock, so the kernel had told the others nothing.
// Each is killed when it has it.
std::string got_after_a_release(const std::string& numbers) {
  const Scene scene;
  const Told go;
  const Child first([&] {
    const auto store = open_at(scene.path());
    const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
    DistributedLock lock(pinger, "jobs");
    if (!lock.lock_try("x")) _exit(2);
    scene.told.tell('h');
    if (go.next() != 'g') _exit(3);
    lock.unlock();
    while (true) pause();
  });
  REQUIRE(scene.told.next() == 'h');
  std::map<char, std::unique_ptr<Child>> waiters;
  for (const char number : numbers) waiters[number] = scene.waiter(number);
  go.tell('g');
  std::string got;
  while (got.size() < numbers.size()) {
    got += scene.told.next();
    REQUIRE(waiters.contains(got.back()));
    waiters[got.back()]->end();
  }
  return got;
}

TEST_CASE("the next in line gets the lock of a holder that got it by a release, and was killed",
          "[sqlite][line][R23][R19]") {
  CHECK(once_of_six(std::string("12"), [] { return got_after_a_release("12"); }) == "12");
}

TEST_CASE("those behind a takeover learn of its end, too", "[sqlite][line][R23][R19]") {
  CHECK(once_of_six(std::string("123"), [] { return got_after_a_release("123"); }) == "123");
}

TEST_CASE("a wait that begins when the holder has ended already gets its lock",
          "[sqlite][line][R23]") {
  const Scene scene;
  scene.holder()->end();
  const Child waiter([&] {
    const auto store = open_at(scene.path());
    const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
    DistributedLock lock(pinger, "jobs", {.recheck = 1h, .deadlock_after = 0ms});
    lock.lock();
    scene.told.tell('1');
  });
  CHECK(scene.told.next() == '1');
}

TEST_CASE("the children of a holder, and the programs that they execute, keep its lock",
          "[sqlite][R23][R1][forks]") {
  const bool executes = GENERATE(false, true);
  CAPTURE(executes);
  const Scene scene;
  const Told ids;
  const auto holder = scene.holder({}, [&] {
    Orphan::make(ids, [&] {
      if (executes) execlp("sleep", "sleep", "120", nullptr);
      while (true) pause();
    });
  });
  Orphan child(ids);
  holder->end();
  CHECK(scene.tried() == 0);
  child.end();
  CHECK(scene.tried() == 2);
}

TEST_CASE(
    "where few descriptors are allowed, the programs that a holder executes keep its lock, too",
    "[sqlite][R23][R1][forks]") {
  const Scene scene;
  const Told ids;
  const auto holder = [&] {
    const DescriptorLimit fewer_than_a_witness_asks_for(64);
    return scene.holder(
        {}, [&] { Orphan::make(ids, [&] { execlp("sleep", "sleep", "120", nullptr); }); });
  }();
  Orphan child(ids);
  holder->end();
  CHECK(scene.tried() == 0);
  child.end();
  CHECK(scene.tried() == 2);
}

TEST_CASE("a child keeps no lock where the process alone is to have the witness",
          "[sqlite][R23][forks]") {
  const bool executes = GENERATE(false, true);
  CAPTURE(executes);
  const Scene scene;
  const Told ids;
  const auto holder = scene.holder({.witness = WitnessRule::process}, [&] {
    Orphan::make(ids, [&] {
      if (executes) execlp("sleep", "sleep", "120", nullptr);
      while (true) pause();
    });
  });
  const Orphan child(ids);
  CHECK(scene.tried() == 0);
  holder->end();
  CHECK(scene.tried() == 2);
}

TEST_CASE("a holder that closes all its descriptors keeps its lock", "[sqlite][R23][R1]") {
  const auto rule = GENERATE(WitnessRule::children, WitnessRule::process);
  const Scene scene;
  const auto holder = scene.holder({.witness = rule}, [&] {
    // The pipe to the test is told first, so that it may be closed.
    scene.told.tell('h');
    close_range(3, ~0U, 0);
    while (true) {
      raise(SIGSTOP);
    }
  });
  holder->await_stop();
  CHECK(scene.tried() == 0);
}

TEST_CASE("without a witness of one of the two the pings judge", "[sqlite][R23][R6]") {
  const StoreOptions none{.witness = WitnessRule::none};
  const Scene scene;
  SECTION("the holder's") {
    scene.holder(none)->end();
    CHECK(scene.tried() == 0);
  }
  SECTION("the contender's") {
    scene.holder()->end();
    CHECK(scene.tried(none) == 0);
    CHECK(scene.tried() == 2);
  }
}

TEST_CASE("a ping of an earlier version has no witness", "[sqlite][R23][R6][R1]") {
  const Scene scene;
  scene.holder()->end();
  SqliteFile file(scene.path().string());
  SECTION("its first") { file.execute("UPDATE lockpings SET witness = NULL"); }
  SECTION("after one of this version by the same process") {
    file.execute(
        "INSERT INTO lockpings(_id, ping, clock, ping_successes)"
        " SELECT _id, ping + 1, clock, ping_successes + 1 FROM lockpings WHERE true"
        " ON CONFLICT DO UPDATE SET ping = excluded.ping, clock = excluded.clock,"
        " ping_successes = excluded.ping_successes");
    CHECK_FALSE(open_at(scene.path())->list().pings.at(0).record->ended);
  }
  CHECK(scene.tried() == 0);
}

TEST_CASE("a witness's file that is removed or replaced says nothing", "[sqlite][R23][R1]") {
  const auto* way = GENERATE("removed", "replaced", "copied", "a folder");
  CAPTURE(way);
  const bool lives = GENERATE(true, false);
  CAPTURE(lives);
  const Scene scene;
  const auto holder = scene.holder();
  if (!lives) holder->end();
  const fs::path aside = scene.witness().string() + "-aside";
  fs::rename(scene.witness(), aside);
  if (std::string(way) == "replaced") CHECK(witness_at(scene.path()).statement_of("another"));
  if (std::string(way) == "copied") fs::copy_file(aside, scene.witness());
  if (std::string(way) == "a folder") fs::create_directory(scene.witness());
  CHECK(scene.tried() == 0);
}

TEST_CASE("a process has one witness, from its first ping until nothing of it is left",
          "[sqlite][R23]") {
  const Scene scene;
  const auto contender = open_at(scene.path());
  auto store = open_at(scene.path());
  const auto ended = [&] { return contender->inspect("jobs", Freshness::fresh).ping->ended; };
  held(*store, "jobs");
  store->ping("holder");
  CHECK_FALSE(ended());
  store->ping("holder");
  CHECK_FALSE(ended());
  // Nobody has said that the hold is given up.
  store.reset();
  CHECK_FALSE(ended());
}

TEST_CASE("a ping that cannot be removed keeps its witness", "[sqlite][R23][R1]") {
  const Scene scene;
  const auto contender = open_at(scene.path());
  const auto store = open_at(scene.path(), {.call_limit = 50ms});
  held(*store, "jobs");
  store->ping("holder");
  SqliteFile writer(scene.path().string());
  writer.execute("BEGIN IMMEDIATE");
  CHECK(error_of([&] { store->remove_ping("holder"); }));
  writer.execute("ROLLBACK");
  CHECK_FALSE(contender->inspect("jobs", Freshness::fresh).ping->ended);
}

TEST_CASE("a pinger that is stopped while a lock is held keeps its witness", "[sqlite][R23][R1]") {
  const Scene scene;
  const auto pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = open_at(scene.path())});
  DistributedLock lock(pinger, "jobs");
  REQUIRE(lock.lock_try("x"));
  pinger->stop();
  CHECK(lock.held());
  CHECK(scene.tried() == 0);
}

TEST_CASE("a listing shows whose holder has ended", "[sqlite][R23]") {
  const Scene scene;
  const auto holder = scene.holder();
  const auto store = open_at(scene.path());
  const auto ended = [&] { return store->list().pings.at(0).record->ended; };
  CHECK_FALSE(ended());
  holder->end();
  CHECK(ended());
}
