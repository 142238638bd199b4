#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

/// The tool on a terminal of its own, with its output somewhere else.
class OnTerminal {
 public:
  explicit OnTerminal(const std::string& words) {
    const std::string line = "exec '" + tool_path() + "' " + words + " >/dev/null";
    tool_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (tool_ == 0) {
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(99);
    }
    REQUIRE(tool_ > 0);
  }
  ~OnTerminal() {
    kill(tool_, SIGKILL);
    waitpid(tool_, nullptr, 0);
    close(terminal_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  /// Reads on until the text has come.
  bool shows(const std::string& text) const {
    constexpr int kMilliseconds = 60'000;
    pollfd waited{.fd = terminal_, .events = POLLIN, .revents = 0};
    std::array<char, 4096> part{};
    std::string shown;
    while (shown.find(text) == std::string::npos) {
      if (poll(&waited, 1, kMilliseconds) != 1) return false;
      const ssize_t got = read(terminal_, part.data(), part.size());
      if (got <= 0) return false;
      shown.append(part.data(), static_cast<std::size_t>(got));
    }
    return true;
  }

 private:
  pid_t tool_ = -1;
  int terminal_ = -1;
};

}  // namespace

TEST_CASE("a wait is told on a terminal, wherever the command's output goes", "[process][run]") {
  const ToolFixture fixture;
  const auto holder = fixture.hold();
  const OnTerminal waiter("run '--uri=sqlite:" + fixture.file().string() + "' jobs true");
  CHECK(waiter.shows("waiting for jobs, held by"));
}
