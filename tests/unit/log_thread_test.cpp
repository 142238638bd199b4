#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <future>
#include <optional>
#include <thread>

#include "log.h"
#include "log_sinks.h"
#include "support/captured_log.h"
#include "support/fleet.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

int number_in(const std::string& text) {
  return std::stoi(text.substr(text.find_first_of("0123456789")));
}

}  // namespace

TEST_CASE("a sink that throws costs no lock, whatever it throws", "[log][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  Captured log;
  SECTION("an exception") {
    log.then([] { throw std::runtime_error("a full disk"); });
  }
  SECTION("what is no exception") {
    log.then([] { throw 42; });
  }
  SECTION("an interruption") {
    log.then([] { throw boost::thread_interrupted(); });
  }
  REQUIRE(lock->lock_try("x"));
  a.store->fail("ping", Fault::rejected);
  a.pinger->ping_round();
  CHECK(lock->held());
  CHECK(lock->unlock() == UnlockResult::released);
  CHECK(log.count(severity_level::warning, "ping failed") == 1);
}

TEST_CASE("a sink that blocks holds up no call, no ping and no watch", "[log][R9][R12][threads]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  Captured log;
  std::future<bool> work;
  {
    Blocked sink(log);
    log::claim_came_second("balancer");
    sink.wait_for_a_record();
    work = std::async(std::launch::async, [&] {
      const bool got = lock->lock_try("x");
      a.store->fail("ping", Fault::rejected);
      a.pinger->ping_round();
      a.pinger->watch_round();
      return got && lock->held() && lock->unlock() == UnlockResult::released;
    });
    CHECK(work.wait_for(20s) == std::future_status::ready);
  }
  CHECK(work.get());
  CHECK(log.count(severity_level::warning, "ping failed") == 1);
}

TEST_CASE("records that sinks do not take in time are dropped and counted", "[log]") {
  constexpr int kRecords = 2000;
  Captured log;
  {
    Blocked sink(log);
    for (int i = 0; i < kRecords; ++i) log::unlocked(std::string(1000, 'x'));
    CHECK_FALSE(flush_log(0ms));
  }
  REQUIRE(flush_log(1min));
  log::unlocked("last");
  const std::vector<LoggedLine> lines = log.lines();
  CHECK(lines.back().text.find("last") != std::string::npos);
  const LoggedLine& told = lines[lines.size() - 2];
  REQUIRE(told.text.find("lines were dropped") != std::string::npos);
  CHECK(told.level == severity_level::warning);
  CHECK(static_cast<int>(lines.size()) - 2 + number_in(told.text) == kRecords);
  CHECK(lines.size() > 900);
  CHECK(lines.size() < 1100);
}

TEST_CASE("a wait for the log has no longest time", "[log]") {
  Captured log;
  std::future<bool> flushed;
  {
    Blocked sink(log);
    log::unlocked("jobs");
    sink.wait_for_a_record();
    flushed =
        std::async(std::launch::async, [] { return flush_log(std::chrono::milliseconds::max()); });
    CHECK(flushed.wait_for(50ms) == std::future_status::timeout);
  }
  CHECK(flushed.get());
}

TEST_CASE("records of one thread keep their order, and none is lost", "[log][threads]") {
  constexpr int kRecords = 500;
  Captured log;
  {
    const auto write = [](const char* name) {
      for (int i = 0; i < kRecords; ++i) log::ping_failed(name, std::to_string(i));
    };
    std::jthread a(write, "a");
    std::jthread b(write, "b");
  }
  int next_of_a = 0;
  int next_of_b = 0;
  for (const LoggedLine& line : log.lines()) {
    int& next = line.text.find("for a: ") != std::string::npos ? next_of_a : next_of_b;
    CHECK(number_in(line.text) == next++);
  }
  CHECK(next_of_a == kRecords);
  CHECK(next_of_b == kRecords);
}

TEST_CASE("a sink that waits for the log does not wait for itself", "[log]") {
  Captured log;
  std::optional<bool> flushed;
  log.then([&] { flushed = flush_log(1h); });
  log::unlocked("balancer");
  CHECK(log.count_all() == 1);
  CHECK(flushed == false);
}

TEST_CASE("a sink may use the library", "[log]") {
  Fleet fleet;
  const auto lock = fleet.process("a").lock("in the sink");
  Captured log;
  int claims = 0;
  log.then([&] {
    if (claims++ == 0) CHECK(lock->lock_try("x"));
  });
  log::unlocked("balancer");
  REQUIRE(log.count(severity_level::debug, "unlock: \"balancer\"") == 1);
  CHECK(log.count(severity_level::debug, "acquired: { _id: \"in the sink\"") == 1);
}

// At the end of a program its own threads write (R12).
TEST_CASE("a sink takes no interruption from the thread that writes to it", "[log][threads]") {
  Captured log;
  log.then([] { boost::this_thread::interruption_point(); });
  std::promise<void> interrupted;
  bool stays = false;
  boost::thread writer([&] {
    interrupted.get_future().wait();
    log::write_to_sinks(LogLevel::warning, "last words", LogLevel::off);
    stays = boost::this_thread::interruption_requested();
  });
  writer.interrupt();
  interrupted.set_value();
  writer.join();
  CHECK(stays);
  CHECK(log.count(severity_level::warning, "last words") == 1);
}
