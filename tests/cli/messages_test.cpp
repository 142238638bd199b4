// The lines that a tool has written when it ends. A thread writes them, so that each test ends many
// times: a tool that does not wait for that thread is ahead of it at least once.
#include "cli/messages.h"

#include <boost/log/core.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <limits>
#include <string>

#include "cli/error_pipe.h"
#include "cli/log_sink.h"
#include "distlock/log.h"
#include "log.h"

using namespace distlock;
using namespace distlock::cli;
using distlock::cli::testing::ErrorPipe;

namespace {

constexpr int kEnds = 300;

/// While it lives, the tool writes each record of the library.
class EachRecord {
 public:
  EachRecord() {
    set_log_level(LogLevel::debug);
    add_log_sink(Verbosity::verbose);
  }
  ~EachRecord() {
    boost::log::core::get()->remove_all_sinks();
    set_log_level(LogLevel::off);
  }
  EachRecord(const EachRecord&) = delete;
  EachRecord& operator=(const EachRecord&) = delete;
};

// False: the machine stood still, so that the end did not wait for its writer.
bool ends_in_time(const std::function<void()>& write) {
  const auto begun = std::chrono::steady_clock::now();
  {
    const BackgroundMessages messages;
    write();
  }
  return std::chrono::steady_clock::now() - begun < std::chrono::milliseconds{900};
}

// Where the end did not wait for its writer, this waits for it, so that the next round has its own.
std::string written_at_last(const ErrorPipe& error, bool in_time) {
  std::string written = error.written();
  while (!in_time && written.empty()) written = error.written();
  return written;
}

}  // namespace

TEST_CASE("the last line of a tool is written when it ends", "[cli][log][R12]") {
  const ErrorPipe error;
  for (int i = 0; i < kEnds; ++i) {
    const std::string line = "line " + std::to_string(i) + '\n';
    const bool in_time = ends_in_time([&] { std::cerr << line; });
    const std::string written = written_at_last(error, in_time);
    if (in_time) REQUIRE(written == line);
  }
}

TEST_CASE("a message for which there is no room is counted, and silences no later one",
          "[cli][log]") {
  const ErrorPipe error;
  {
    const BackgroundMessages messages;
    std::cerr.write("x", std::numeric_limits<std::streamsize>::max());
    std::cerr << "next\n";
    CHECK(std::cerr.good());
  }
  const std::string written = error.written();
  CHECK_THAT(written, Catch::Contains("1 lines were dropped"));
  CHECK_THAT(written, Catch::EndsWith("next\n"));
}

TEST_CASE("the last record of the library is written when a tool ends", "[cli][log][R12]") {
  const ErrorPipe error;
  const EachRecord verbose;
  for (int i = 0; i < kEnds; ++i) {
    const std::string process = "db" + std::to_string(i);
    const bool in_time = ends_in_time([&] { distlock::log::pinged(process, false); });
    const std::string written = written_at_last(error, in_time);
    if (in_time) REQUIRE_THAT(written, Catch::EndsWith("for: " + process + '\n'));
  }
}
