#pragma once

#include <atomic>
#include <boost/log/attributes/value_extraction.hpp>
#include <boost/log/core.hpp>
#include <boost/log/expressions/message.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/log/trivial.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "distlock/log.h"

namespace distlock::testing {

using boost::log::trivial::severity_level;

struct LoggedLine {
  severity_level level;
  std::string channel;
  std::string text;
};

/// The records that a program with a sink of its own sees while this lives.
class Captured {
 public:
  Captured() {
    boost::log::core::get()->add_sink(sink_);
    set_log_level(LogLevel::debug);
  }
  ~Captured() {
    set_log_level(LogLevel::off);
    flush();
    boost::log::core::get()->remove_sink(sink_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  /// Runs after each record from now on.
  void then(std::function<void()> action) { sink_->locked_backend()->then = std::move(action); }

  std::vector<LoggedLine> lines() {
    flush();
    return sink_->locked_backend()->lines;
  }

  int count_all() { return static_cast<int>(lines().size()); }

  int count(severity_level level, const std::string& part) {
    int found = 0;
    for (const LoggedLine& line : lines()) {
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
    std::vector<LoggedLine> lines;
    std::function<void()> then;
  };
  static void flush() {
    if (!flush_log(std::chrono::minutes{1})) throw std::runtime_error("the log hangs");
  }

  using Sink = boost::log::sinks::synchronous_sink<Backend>;
  boost::shared_ptr<Sink> sink_ = boost::make_shared<Sink>();
};

/// While it lives, the sink takes no record to its end.
class Blocked {
 public:
  explicit Blocked(Captured& log) {
    // Shared, since a record may come to the sink after the end of this.
    log.then([state = state_, open = state_->over.get_future().share()] {
      if (!state->reached.exchange(true)) state->blocks.set_value();
      open.wait();
    });
  }
  ~Blocked() { state_->over.set_value(); }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

  void wait_for_a_record() { state_->blocks.get_future().wait(); }

 private:
  struct State {
    std::atomic<bool> reached = false;
    std::promise<void> blocks;
    std::promise<void> over;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace distlock::testing
