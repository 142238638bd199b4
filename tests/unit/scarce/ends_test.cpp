// Guards, stores and bells that end where there is no memory, and a hold that ends in the middle of
// its beginning.
#include <pthread.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/guard.h"
#include "distlock/pinger.h"
#include "distlock/stores.h"
#include "line_writer.h"
#include "mongo/mock_server.h"
#include "mongo/server.h"
#include "pinger/holds.h"
#include "stores/mongodb/mongo_bell.h"
#include "stores/mongodb/mongo_open.h"
#include "stores/sqlite/sqlite_page.h"
#include "stores/sqlite/sqlite_witness.h"
#include "support/fleet.h"
#include "support/forked_child.h"
#include "support/temporary_folder.h"
#include "unit/scarce/scarcity.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

// A destructor that throws ends the program.
template <class Action>
void without_memory(const Action& action) {
  boost::thread([&] {
    pthread_setname_np(pthread_self(), "starving");
    const NoMemoryFor me("starving");
    action();
  }).join();
}

std::string members_in(const TemporaryFolder& folder) {
  const std::string path = (folder.path() / "member").string();
  return "mirrored+sqlite:" + path + "1," + path + "2," + path + "3";
}

}  // namespace

TEST_CASE("a guard that gets no memory for its hold leaves no hold", "[scarce][lock][R3]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("a name that is too long for a string without memory of its own");
  const std::function<bool()> holds = [&] { return lock->held(); };
  {
    const NoMemoryOnce then(holds);
    SECTION("one that tries") { CHECK_THROWS_AS(dist_lock_try(lock.get(), "x"), std::bad_alloc); }
    SECTION("one that waits for a time") {
      CHECK_THROWS_AS(dist_lock(*lock, 5s, "x"), std::bad_alloc);
    }
    SECTION("one that waits for a stop") {
      CHECK_THROWS_AS(dist_lock(*lock, std::stop_token{}, "x"), std::bad_alloc);
    }
  }
  CHECK_FALSE(lock->held());
  CHECK_FALSE(fleet.stored(lock->name()).taken());
  CHECK(fleet.stored(lock->name()).fence == 1);
  CHECK(dist_lock_try(lock.get(), "x").got());
}

TEST_CASE("a hold that ends while it begins wakes the watch all the same", "[pinger][R9]") {
  constexpr SteadyTime kStart{1h};
  Holds holds(AnnounceOn::caller);
  const auto hold = std::make_shared<Hold>("jobs", 1min);
  holds.enlist(hold, Token{{1}});
  // The beginning of a hold frees what the tokens of the one before shared.
  (void)holds.stop_token(*hold);
  // Until then the watch would sleep otherwise.
  const auto later = std::make_shared<Hold>("later", 1min);
  holds.enlist(later, Token{{2}});
  later->claim_validity.begin(kStart + 10s);
  REQUIRE(holds.begin(*later, Token{{2}}, {}, kStart));
  const auto due = holds.announce_due(kStart);
  REQUIRE(due.next == kStart + 40s);
  hold->claim_validity.begin(kStart);
  bool ended = false;
  // As another thread's held() does, by a later clock.
  const std::function<void()> held = [&] { ended = hold->validity.over(kStart + 1min); };
  {
    const OnNextFree then(held);
    REQUIRE(holds.begin(*hold, Token{{1}}, {}, kStart));
  }
  REQUIRE(ended);
  CHECK(due.changed.stop_requested());
}

TEST_CASE("a warning that got no memory is tried again before the deadline",
          "[scarce][pinger][R9]") {
  constexpr SteadyTime kStart{1h};
  constexpr SteadyTime kAtRisk = kStart + 30s;
  Holds holds(AnnounceOn::caller);
  const auto hold = std::make_shared<Hold>("jobs", 1min);
  bool warned = false;
  holds.on_at_risk(*hold, [&](SteadyTime) { warned = true; });
  holds.enlist(hold, Token{{1}});
  hold->claim_validity.begin(kStart);
  REQUIRE(holds.begin(*hold, Token{{1}}, {}, kStart));
  REQUIRE(holds.announce_due(kStart).next == kAtRisk);
  const std::function<bool()> always = [] { return true; };
  Holds::Due due;
  {
    const NoMemoryOnce then(always);
    due = holds.announce_due(kAtRisk);
  }
  REQUIRE(due.changed.stop_possible());
  CHECK_FALSE(warned);
  CHECK(due.next < kStart + 1min);
  static_cast<void>(holds.announce_due(due.next));
  CHECK(warned);
}

TEST_CASE("a hold that counts on a member no more ends sooner also without memory",
          "[scarce][pinger][M5][R9]") {
  constexpr SteadyTime kStart{1h};
  constexpr SteadyTime kOld = kStart - 58s;
  const Token ts{{9}};
  const std::vector<Token> members{{{1}}, {{2}}, {{3}}};
  Holds holds(AnnounceOn::caller);
  const auto hold = std::make_shared<Hold>("jobs", 1min);
  holds.enlist(hold, ts);
  holds.begin_claim(*hold,
                    {{members[0], {}, kStart, kStart},
                     {members[1], {}, kStart, kStart},
                     {members[2], {}, kOld, kOld}},
                    2);
  REQUIRE(holds.begin(*hold, ts, members, kStart));
  const std::vector<Token> lacking{members[0]};
  without_memory([&] { holds.unprotect({hold, ts}, lacking); });
  CHECK(holds.valid({hold, ts}, kStart + 1s));
  CHECK_FALSE(holds.valid({hold, ts}, kStart + 3s));
}

TEST_CASE("a page that is the last to use a database is removed without memory",
          "[scarce][sqlite]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "a name that no short string holds.db").string();
  for (const char* ending : {"", "-wal"}) std::ofstream(database + ending).close();
  std::optional<SqlitePage> page(std::in_place, database, "-bell", "a mark that is rather long");
  page->make();
  REQUIRE(page->open());
  std::filesystem::remove(database + "-wal");
  without_memory([&] { page.reset(); });
  CHECK_FALSE(std::filesystem::exists(database + "-bell"));
}

TEST_CASE("a SQLite store ends without memory, and leaves no log", "[scarce][sqlite]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "a name that no short string holds.db").string();
  auto store = open_store(ConnectionString("sqlite:" + database));
  store->ping("holder");
  REQUIRE(std::filesystem::exists(database + "-wal"));
  without_memory([&] { store.reset(); });
  CHECK_FALSE(std::filesystem::exists(database + "-wal"));
}

TEST_CASE("a mirrored store opens where there is no memory for the thread of a member",
          "[scarce][mirrored][M2]") {
  const TemporaryFolder folder;
  const ConnectionString connection(members_in(folder));
  const ThreadsLeft many(100);
  const std::function<bool()> one_started = [] { return ThreadsLeft::left() < 100; };
  const NoMemoryOnce then(one_started);
  CHECK_NOTHROW(open_store(connection));
}

TEST_CASE("the opening of a mirrored store ends where its members get neither threads nor memory",
          "[scarce][mirrored][M2]") {
  const TemporaryFolder folder;
  const ConnectionString connection(members_in(folder));
  const int after = GENERATE(range(0, 40));  // So many pieces of memory.
  bool failed = false;
  boost::thread([&] {
    pthread_setname_np(pthread_self(), "starving");
    const ThreadsLeft none(0);
    std::optional<NoMemoryFor> me;
    int left = after;
    const std::function<bool()> starts = [&] {
      if (ThreadsLeft::refusals() > 0 && left-- == 0) me.emplace("starving");
      return me.has_value();
    };
    const NoMemoryOnce then(starts);
    try {
      open_store(connection);
    } catch (const std::bad_alloc&) {
      failed = true;
    } catch (const Error&) {
      failed = true;
    }
  }).join();
  CHECK(failed);
}

TEST_CASE("a witness that keeps a byte ends without memory", "[scarce][sqlite][R23]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "a name that no short string holds.db").string();
  for (const char* ending : {"", "-wal"}) std::ofstream(database + ending).close();
  std::optional<SqliteWitness> witness(std::in_place, database, "boot/", WitnessRule::children);
  const auto statement = witness->statement_of("holder");
  REQUIRE(statement);
  without_memory([&] { witness.reset(); });
  // Somebody may still act for the hold.
  CHECK_FALSE(SqliteWitness(database, "boot/", WitnessRule::children).has_ended(*statement));
}

TEST_CASE("the bell of a MongoDB store ends without memory", "[scarce][mongo][R19]") {
  std::atomic<bool> waits = false;
  MockServer server(json("{" + standalone_hello() + "}"));
  server.answer_with([&](const Bson& command) {
    const bool more = bson_has_field(command.get(), "getMore");
    waits = waits || more;
    return doc(
        {{"ok", 1}, {"cursor", doc({{"id", 77}, {more ? "nextBatch" : "firstBatch", array({})}})}});
  });
  const ConnectionString connection("mongodb://127.0.0.1:" + std::to_string(server.port()) + "/");
  MongoPool pool(tuned_uri(connection, 10s), connection);
  const MongoSettings settings{"distlock", 10s};
  auto bell = std::make_unique<MongoBell>(
      pool, settings, "a process whose name no short string holds", [](std::string_view) {});
  REQUIRE(comes_true([&] { return waits.load(); }));
  without_memory([&] { bell.reset(); });
  CHECK_FALSE(bell);
}

TEST_CASE("handles of a parent end in a forked child without memory", "[scarce][R16][forks]") {
  Fleet fleet;
  auto pinger = std::make_unique<DistributedLockPinger>(Environment{.store = fleet.store});
  auto store = open_store(ConnectionString("memory:"));
  const auto ends = [&] {
    const std::function<bool()> always = [] { return true; };
    const NoMemoryOnce now(always);
    pinger.reset();
    store.reset();
    return 0;
  };
  CHECK(answer_of_child(ends) == 0);
}

TEST_CASE("a writer that finds no memory to tell of dropped lines tells when there is some",
          "[scarce][log][threads]") {
  constexpr std::size_t kLong = 200'000;
  std::promise<void> gate;
  const std::shared_future<void> open = gate.get_future().share();
  std::atomic<bool> begun = false;
  std::atomic<bool> told = false;
  LineWriter writer("scarce", [&, open](LogLevel /*level*/, const std::string& line) {
    begun = true;
    open.wait();
    told = told || line.find("lines were dropped") != line.npos;
  });
  writer.add(LogLevel::error, "first");
  REQUIRE(comes_true([&] { return begun.load(); }));
  for (int i = 0; i < 10; ++i) writer.add(LogLevel::error, std::string(kLong, 'x'));
  {
    const NoMemoryFor me("distlock-lines");
    gate.set_value();
    REQUIRE(comes_true([] { return NoMemoryFor::refusals() > 1; }));
    CHECK_FALSE(told);
  }
  CHECK(comes_true([&] { return told.load(); }));
  CHECK(writer.end(1min));
}
