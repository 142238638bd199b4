// The lines of a log where the system has no more threads.
#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <latch>
#include <stdexcept>
#include <string>
#include <vector>

#include "line_writer.h"
#include "unit/scarce/scarcity.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("where no thread can be had, a flush and an end write the lines that wait",
          "[scarce][log][R12][threads]") {
  const bool at_the_end = GENERATE(false, true);
  std::vector<std::string> written;
  LineWriter writer("scarce",
                    [&](LogLevel /*level*/, const std::string& line) { written.push_back(line); });
  const ThreadsLeft none(0);
  writer.add(LogLevel::error, "a");
  writer.add(LogLevel::error, "b");
  CHECK(written.empty());
  CHECK((at_the_end ? writer.end(1min) : writer.flush(1min)));
  CHECK(writer.flush(1min));
  CHECK(written == std::vector<std::string>{"a", "b"});
}

TEST_CASE("where no thread can be had, a flush does not wait for the number of a line that failed",
          "[scarce][log][R12][threads]") {
  LineWriter writer("scarce", [](LogLevel /*level*/, const std::string& /*line*/) {
    throw std::runtime_error("no reader");
  });
  const ThreadsLeft none(0);
  writer.add(LogLevel::error, "a");
  CHECK(writer.flush(10s));
}

TEST_CASE("a thread that can be had while a line is written without it writes the next one",
          "[scarce][log][R16][threads]") {
  std::latch begun{1};
  std::latch go_on{1};
  std::atomic<int> at_once = 0;
  std::atomic<int> most = 0;
  LineWriter writer("scarce", [&](LogLevel /*level*/, const std::string& line) {
    most = std::max(most.load(), ++at_once);
    if (line == "a") {
      begun.count_down();
      go_on.wait();
    }
    --at_once;
  });
  boost::thread flushing;
  {
    std::latch no_more_threads{1};
    flushing = boost::thread([&] {
      no_more_threads.wait();
      CHECK(writer.flush(1min));
    });
    const ThreadsLeft none(0);
    writer.add(LogLevel::error, "a");
    no_more_threads.count_down();
    begun.wait();
  }
  writer.add(LogLevel::error, "b");
  CHECK_FALSE(writer.flush(100ms));
  CHECK(most == 1);
  go_on.count_down();
  flushing.join();
  CHECK(writer.flush(1min));
  CHECK(most == 1);
}
