#include <unistd.h>

#include <boost/log/attributes/value_extraction.hpp>
#include <boost/log/core.hpp>
#include <boost/log/expressions/message.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/log/trivial.hpp>
#include <chrono>
#include <future>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"

// Logs in the way that its argument names. log_output_test.cpp looks at what comes out.
namespace {

using namespace std::chrono_literals;

/// Makes the library log debug records and one warning.
void make_it_log() {
  const auto store = distlock::make_memory_store();
  const auto pinger = std::make_shared<distlock::DistributedLockPinger>(
      distlock::Environment{.store = store}, distlock::PingerOptions{},
      distlock::PingerDrive::caller);
  distlock::DistributedLock lock(pinger, "jobs");
  if (!lock.lock_try("x")) throw std::runtime_error("it is busy");
  store->release("jobs", *lock.record().ts);
  lock.unlock();
}

/// To standard output, or nowhere.
struct Backend : boost::log::sinks::basic_sink_backend<boost::log::sinks::synchronized_feeding> {
  void consume(const boost::log::record_view& record) const {
    if (delay) std::promise<void>().get_future().wait_for(*delay);
    const auto channel = boost::log::extract<std::string>("Channel", record);
    std::cout << (channel ? *channel : "-") << "| " << *record[boost::log::expressions::smessage]
              << std::endl;
  }
  std::optional<std::chrono::milliseconds> delay;
};

void add_sink(std::optional<std::chrono::milliseconds> delay) {
  const auto sink = boost::make_shared<boost::log::sinks::synchronous_sink<Backend>>();
  sink->locked_backend()->delay = delay;
  boost::log::core::get()->add_sink(sink);
}

/// Logs itself without a sink, which is to standard output, while the library logs.
void log_besides() {
  constexpr int kRecords = 5000;
  std::jthread own([] {
    for (int i = 0; i < kRecords; ++i) BOOST_LOG_TRIVIAL(info) << "own " << i << " end";
  });
  std::stop_source stop;
  std::jthread library([&] {
    while (!stop.stop_requested()) make_it_log();
  });
  own.join();
  stop.request_stop();
}

int run(const std::string& way) {
  if (way == "own-sink") add_sink({});
  if (way == "stuck-sink") add_sink(24h);
  if (way == "slow-sink") {
    distlock::set_log_level(distlock::LogLevel::warning);
    add_sink(100ms);
  }
  if (way == "level-error") distlock::set_log_level(distlock::LogLevel::error);
  if (way == "level-debug") distlock::set_log_level(distlock::LogLevel::debug);
  if (way == "no-logging") boost::log::core::get()->set_logging_enabled(false);
  if (way == "besides") {
    log_besides();
  } else {
    for (int i = way == "repeatedly" ? 20 : 1; i > 0; --i) make_it_log();
  }
  if (way == "quick") {
    const bool flushed = distlock::flush_log(1min);
    _exit(flushed ? 0 : 3);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) { return count == 2 ? run(words[1]) : 2; }
