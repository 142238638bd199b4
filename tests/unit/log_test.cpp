#include "log.h"

#include <boost/log/attributes/value_extraction.hpp>
#include <boost/log/core.hpp>
#include <boost/log/expressions/message.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/log/trivial.hpp>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>

#include "distlock/log.h"
#include "support/server_fleet.h"

using namespace distlock;
using namespace std::chrono_literals;
using boost::log::trivial::severity_level;
using namespace distlock::testing;

namespace {

struct Line {
  severity_level level;
  std::string channel;
  std::string text;
};

/// What a program with a sink of its own sees while this lives.
class Captured {
 public:
  Captured() {
    set_log_level(LogLevel::debug);
    boost::log::core::get()->add_sink(sink_);
  }
  ~Captured() {
    boost::log::core::get()->remove_sink(sink_);
    set_log_level(LogLevel::off);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  /// Runs after each record from now on.
  void then(std::function<void()> action) { sink_->locked_backend()->then = std::move(action); }

  int count_all() { return static_cast<int>(sink_->locked_backend()->lines.size()); }

  int count(severity_level level, const std::string& part) {
    int found = 0;
    for (const Line& line : sink_->locked_backend()->lines) {
      CHECK(line.channel == "distlock");
      if (line.level == level && line.text.find(part) != std::string::npos) ++found;
    }
    return found;
  }

 private:
  struct Backend : boost::log::sinks::basic_sink_backend<boost::log::sinks::synchronized_feeding> {
    void consume(const boost::log::record_view& record) {
      lines.push_back({*boost::log::extract<severity_level>("Severity", record),
                       *boost::log::extract<std::string>("Channel", record),
                       *record[boost::log::expressions::smessage]});
      if (then) then();
    }
    std::vector<Line> lines;
    std::function<void()> then;
  };
  using Sink = boost::log::sinks::synchronous_sink<Backend>;
  boost::shared_ptr<Sink> sink_ = boost::make_shared<Sink>();
};

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

TEST_CASE("every tenth successful ping is info, the others debug", "[log][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  Captured log;
  for (int i = 0; i < 20; ++i) a.pinger->ping_round();
  CHECK(log.count(severity_level::info, "pinged successfully for: a") == 2);
  CHECK(log.count(severity_level::debug, "pinged successfully for: a") == 18);
}

TEST_CASE("a busy and a dead lock are logged with the original's events", "[log][R6]") {
  Fleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("doing balance round"));
  const auto contender = fleet.process("b").lock("balancer");
  Captured log;
  fleet.clock->advance(15min + 30s);
  CHECK_FALSE(contender->lock_try("y"));
  CHECK(log.count(severity_level::debug, "lock failed because taken by") == 1);
  CHECK(log.count(severity_level::debug, "elapsed minutes: 15") == 1);
  fleet.clock->advance(30s);
  CHECK(contender->lock_try("y"));
  CHECK(log.count(severity_level::info, "forcefully taking over from") == 1);
  CHECK(log.count(severity_level::debug, "dist_lock acquired") == 1);
}

TEST_CASE("a holder without a ping is logged with the original's error", "[log][R7]") {
  Fleet fleet;
  const auto gone = fleet.process("gone").lock("balancer");
  REQUIRE(gone->lock_try("x"));
  fleet.store->remove_ping("gone");
  Captured log;
  CHECK_FALSE(fleet.process("b").lock("balancer")->lock_try("y"));
  CHECK(log.count(severity_level::error, "lock is taken by old process?") == 1);
}

TEST_CASE("a contender says why clocks that disagree keep it from taking over", "[log][R5]") {
  ServerFleet fleet;
  const auto dead = fleet.process("dead").lock("balancer");
  REQUIRE(dead->lock_try("x"));
  fleet.clock->advance(16min);
  fleet.clock->set_wall_off(1h);
  Captured log;
  CHECK_FALSE(fleet.process("b").lock("balancer")->lock_try("y"));
  CHECK(log.count(severity_level::warning, "clock skew of 3600000ms") == 1);
}

TEST_CASE("a silence beyond all sense is logged with the original's warning", "[log][R6]") {
  Fleet fleet;
  const auto gone = fleet.process("gone").lock("balancer");
  REQUIRE(gone->lock_try("x"));
  fleet.clock->advance(std::chrono::years{101});
  Captured log;
  CHECK(fleet.process("b").lock("balancer")->lock_try("y"));
  CHECK(log.count(severity_level::warning, "elapsed time seems impossible") == 1);
}

TEST_CASE("an unlock that fails is logged with the original's warnings", "[log][R11]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  const auto lock = a.lock("balancer");
  REQUIRE(lock->lock_try("x"));
  a.store->fail("release", Fault::rejected, 3);
  Captured log;
  CHECK(lock->unlock() == UnlockResult::pending);
  for (const char* attempt : {"attempt 1", "attempt 2", "attempt 3"}) {
    CHECK(log.count(severity_level::warning, attempt) == 1);
  }
  CHECK(log.count(severity_level::warning, "couldn't consummate unlock request") == 1);
}

TEST_CASE("a pinger that is late says so once, and again when it recovers", "[log][R12]") {
  Fleet fleet;
  const auto a = fleet.process("a");
  a.pinger->ping_round();
  Captured log;
  a.store->fail("ping", Fault::rejected, 3);
  for (int i = 0; i < 3; ++i) {
    fleet.clock->advance(200s);
    a.pinger->ping_round();
  }
  CHECK(log.count(severity_level::warning, "no successful ping") == 1);
  a.pinger->ping_round();
  a.pinger->ping_round();
  CHECK(log.count(severity_level::warning, "pinging again") == 1);
}

TEST_CASE("a wait says the same thing once", "[log][R15]") {
  Fleet fleet;
  const auto gone = fleet.process("gone").lock("balancer");
  REQUIRE(gone->lock_try("x"));
  fleet.store->remove_ping("gone");
  const auto waiter = fleet.process("b").lock("balancer");
  Captured log;
  CHECK_FALSE(waiter->try_lock_for(1min));
  CHECK(log.count(severity_level::error, "lock is taken by old process?") == 1);
}

TEST_CASE("a level lets through records of its severity and above", "[log]") {
  Captured log;
  const LockRecord lock{.name = "balancer"};
  const auto logged = [&](LogLevel level) {
    set_log_level(level);
    const int before = log.count_all();
    log::acquired(lock);
    log::creating_ping_thread("a");
    log::clock_skew(lock, 3ms);
    log::taken_by_old_process(lock);
    return log.count_all() - before;
  };
  CHECK(logged(LogLevel::debug) == 4);
  CHECK(logged(LogLevel::info) == 3);
  CHECK(logged(LogLevel::warning) == 2);
  CHECK(logged(LogLevel::error) == 1);
  CHECK(logged(LogLevel::off) == 0);
}

TEST_CASE("records below the level are not logged", "[log]") {
  Captured log;
  const LockRecord lock{.name = "balancer"};
  set_log_level(LogLevel::warning);
  log::acquired(lock);
  log::clock_skew(lock, 3ms);
  set_log_level(LogLevel::off);
  log::taken_by_old_process(lock);
  CHECK(log.count(severity_level::debug, "") == 0);
  CHECK(log.count(severity_level::warning, "skew of 3ms") == 1);
  CHECK(log.count(severity_level::error, "") == 0);
}

TEST_CASE("texts of other programs are escaped", "[log]") {
  Captured log;
  log::acquired({.name = "balancer", .why = "\x1b[2Jgone\n"});
  CHECK(log.count(severity_level::debug, "\x1b") == 0);
  CHECK(log.count(severity_level::debug, "\\x1b[2Jgone") == 1);
}
