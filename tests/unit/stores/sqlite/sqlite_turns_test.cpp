// The threads of one process on one connection to a SQLite file.
#include "stores/sqlite/sqlite_turns.h"

#include <unistd.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <mutex>
#include <optional>
#include <vector>

#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_connection.h"
#include "support/asleep.h"
#include "support/temporary_folder.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;

namespace {

/// Threads that each take one turn, and the order in which they had it.
class Queue {
 public:
  ~Queue() { threads_.join_all(); }

  void take_turn(const std::string& name, bool first) {
    threads_.create_thread([this, name, first] {
      const auto limit = since_boot() + 60s;
      const auto turn = first ? turns.enter_first(limit) : turns.enter(limit);
      if (turn.owns_lock()) order_.push_back(name);
    });
  }
  std::vector<std::string> order() {
    threads_.join_all();
    return order_;
  }

  SqliteTurns turns;

 private:
  boost::thread_group threads_;
  std::vector<std::string> order_;  // Changed by whoever has the turn.
};

}  // namespace

TEST_CASE("a ping has its turn before all calls that wait for the connection", "[sqlite][R12]") {
  for (int round = 0; round < 50; ++round) {
    Queue queue;
    {
      const auto turn = queue.turns.enter(since_boot() + 60s);
      queue.take_turn("call", false);
      queue.take_turn("ping", true);
      while (queue.turns.first_waiting() == 0) boost::this_thread::yield();
      for (int i = 0; i < 4; ++i) queue.take_turn("call", false);
    }
    const auto order = queue.order();
    REQUIRE(order.size() == 6);
    CHECK(order.front() == "ping");
  }
}

TEST_CASE("a call that has waited for its whole limit gets no turn", "[sqlite]") {
  SqliteTurns turns;
  const auto turn = turns.enter(since_boot() + 60s);
  REQUIRE(turn.owns_lock());
  boost::thread other([&] {
    CHECK_FALSE(turns.enter(since_boot() + 10ms).owns_lock());
    CHECK_FALSE(turns.enter_first(since_boot() + 10ms).owns_lock());
    CHECK(turns.first_waiting() == 0);
  });
  other.join();
}

TEST_CASE("a ping that gets no turn in time keeps no call from its own", "[sqlite][R12]") {
  Queue queue;
  auto turn = queue.turns.enter(since_boot() + 60s);
  queue.take_turn("ping", true);
  while (queue.turns.first_waiting() == 0) boost::this_thread::yield();
  boost::thread([&] {
    CHECK_FALSE(queue.turns.enter_first(since_boot() + 10ms).owns_lock());
  }).join();
  turn.unlock();
  CHECK(queue.order() == std::vector<std::string>{"ping"});
  CHECK(queue.turns.first_waiting() == 0);
}

TEST_CASE("a call that gets no turn in time is refused, and runs beside no other",
          "[sqlite][R12]") {
  using Access = SqliteConnection::Access;
  const distlock::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "locks.db").string();
  SqliteConnection connection(ConnectionString("sqlite:" + path), StoreOptions{});
  const Access access = GENERATE(Access::ping, Access::write, Access::quick_write, Access::read);
  const SqliteCall call = connection.begin_call(Access::read);
  std::optional<Errc> refused;
  boost::thread other([&] {
    refused =
        distlock::testing::thrown_by([&] { return connection.begin_call(access, since_boot()); });
  });
  other.join();
  CHECK(refused == Errc::not_applied);
}

TEST_CASE("a call is no part of a transaction that an earlier one could not end",
          "[sqlite][R1][R12]") {
  const distlock::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "locks.db").string();
  SqliteConnection connection(ConnectionString("sqlite:" + path), StoreOptions{});
  // As where a ROLLBACK gets no memory.
  connection.db().execute("begin", Effect::reads, "BEGIN IMMEDIATE");
  REQUIRE(sqlite3_get_autocommit(connection.db().handle()) == 0);
  const SqliteCall call = connection.begin_call(SqliteConnection::Access::write);
  CHECK(sqlite3_get_autocommit(connection.db().handle()) != 0);
}

TEST_CASE("a call that waits for its turn leaves the one that has it its own limit",
          "[sqlite][R12]") {
  using Access = SqliteConnection::Access;
  const distlock::testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "locks.db").string();
  SqliteConnection connection(ConnectionString("sqlite:" + path), StoreOptions{});
  std::optional<SqliteCall> call(connection.begin_call(Access::read, since_boot() + 10s));
  std::atomic<pid_t> waiting = 0;
  boost::thread other([&] {
    waiting = gettid();
    static_cast<void>(connection.begin_call(Access::read, since_boot() + 1h));
  });
  distlock::testing::await_sleep(waiting);
  const auto left = connection.db().time_to_wait();
  call.reset();
  other.join();
  CHECK(left <= 10s);
}
