#include "cli/log_sink.h"

#include <boost/log/core.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>

#include "distlock/log.h"
#include "log.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

namespace {

/// The text that the sink of the tool writes of two pings that fail in the same way.
std::string written_of_two_failures(Verbosity verbosity) {
  std::ostringstream text;
  std::streambuf* const before = std::clog.rdbuf(text.rdbuf());
  set_log_level(LogLevel::debug);
  add_log_sink(verbosity);
  for (int i = 0; i < 2; ++i) log::ping_failed("db7:1:1", "no route");
  log::pinged("db7:1:1", false);
  const bool flushed = flush_log(60s);
  boost::log::core::get()->remove_all_sinks();
  boost::log::core::get()->set_logging_enabled(true);
  set_log_level(LogLevel::off);
  std::clog.rdbuf(before);
  CHECK(flushed);
  return text.str();
}

int times(const std::string& part, const std::string& text) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("the tool writes a problem that repeats once, and with -v each time", "[cli][log]") {
  CHECK(times("no route", written_of_two_failures(Verbosity::normal)) == 1);
  CHECK(times("no route", written_of_two_failures(Verbosity::verbose)) == 2);
  CHECK(written_of_two_failures(Verbosity::quiet).empty());
}

TEST_CASE("the tool writes steps of the library with -v only", "[cli][log]") {
  CHECK(times("distlock: ", written_of_two_failures(Verbosity::normal)) == 1);
  CHECK(times("distlock: ", written_of_two_failures(Verbosity::verbose)) == 3);
}
