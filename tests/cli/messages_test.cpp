// The lines that a tool has written when it ends. A thread writes them, so that each test ends many
// times: a tool that does not wait for that thread is ahead of it at least once.
#include "cli/messages.h"

#include <boost/log/core.hpp>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
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

// All that is written until the end of a tool that does this. Nothing: the machine stood still, so
// that the end did not wait for its writer. This does then, so that the next tool has its own.
std::optional<std::string> written_by_the_end(const ErrorPipe& error,
                                              const std::function<void()>& act) {
  const auto begun = std::chrono::steady_clock::now();
  {
    const BackgroundMessages messages;
    act();
  }
  const bool in_time = std::chrono::steady_clock::now() - begun < std::chrono::milliseconds{900};
  std::string written = error.written();
  while (!in_time && written.empty()) written = error.written();
  return in_time ? std::optional(written) : std::nullopt;
}

}  // namespace

TEST_CASE("the last line of a tool is written when it ends", "[cli][log][R12]") {
  const ErrorPipe error;
  for (int i = 0; i < kEnds; ++i) {
    const std::string line = "line " + std::to_string(i) + '\n';
    const auto written = written_by_the_end(error, [&] { std::cerr << line; });
    if (written) REQUIRE(*written == line);
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
    const auto written = written_by_the_end(error, [&] { distlock::log::pinged(process, false); });
    if (written) REQUIRE_THAT(*written, Catch::EndsWith("for: " + process + '\n'));
  }
}
