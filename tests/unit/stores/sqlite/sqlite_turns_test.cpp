// The threads of one process on one connection to a SQLite file.
#include "stores/sqlite/sqlite_turns.h"

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <mutex>
#include <vector>

#include "stores/sqlite/sqlite_clock.h"

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
