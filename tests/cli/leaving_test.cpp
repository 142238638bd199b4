#include "cli/leaving.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "cli/log_sink.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "log.h"

using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;

TEST_CASE("of stores that are opened one after the other only the last is kept", "[cli]") {
  const auto kept = [] {
    auto store = make_memory_store();
    std::weak_ptr<Store> seen = store;
    keep_until_left(std::move(store));
    return seen;
  };
  const std::weak_ptr<Store> earlier = kept();
  const std::weak_ptr<Store> last = kept();
  // It ends on another thread.
  const auto end = std::chrono::steady_clock::now() + 1min;
  while (!earlier.expired() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  CHECK(earlier.expired());
  CHECK_FALSE(last.expired());
}

TEST_CASE("the log is written before the tool leaves a store that is kept", "[cli][log][R12]") {
  constexpr int kLines = 2000;
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    for (const int end : ends) close(end);
    set_log_level(LogLevel::debug);
    add_log_sink(Verbosity::verbose);
    keep_until_left(make_memory_store());
    for (int i = 0; i < kLines; ++i) distlock::log::unlocked("jobs");
    _exit(leave(7));
  }
  close(ends[1]);
  std::string written;
  std::array<char, 4096> part{};
  for (ssize_t size = 1; size > 0;) {
    size = read(ends[0], part.data(), part.size());
    written.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 7);
  CHECK(std::count(written.begin(), written.end(), '\n') == kLines);
}
