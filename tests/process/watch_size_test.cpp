#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "process/tool_fixture.h"

using namespace distlock::testing;

namespace {

/// `distlock list --watch` on a terminal of its own.
class Watch {
 public:
  Watch(const ToolFixture& fixture, winsize size) {
    std::string tool = tool_path();
    std::string list = "list";
    std::string watch = "--watch";
    std::string store = "--uri=sqlite:" + fixture.file().string();
    const std::array<char*, 5> words{tool.data(), list.data(), watch.data(), store.data(), nullptr};
    tool_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (tool_ == 0) {
      execv(words[0], words.data());
      _exit(99);
    }
    REQUIRE(tool_ > 0);
  }
  ~Watch() {
    kill(tool_, SIGKILL);
    waitpid(tool_, nullptr, 0);
    close(terminal_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void resize(winsize size) const { REQUIRE(ioctl(terminal_, TIOCSWINSZ, &size) == 0); }

  /// Reads on until the text has come: 16 KiB at most, which are dozens of frames.
  bool shows(const std::string& text) {
    constexpr int kMilliseconds = 120'000;
    const std::size_t most = shown_.size() + 16384;
    pollfd waited{.fd = terminal_, .events = POLLIN, .revents = 0};
    std::array<char, 4096> part{};
    while (shown_.find(text) == std::string::npos) {
      if (shown_.size() > most || poll(&waited, 1, kMilliseconds) != 1) return false;
      const ssize_t got = read(terminal_, part.data(), part.size());
      if (got <= 0) return false;
      shown_.append(part.data(), static_cast<std::size_t>(got));
    }
    return true;
  }

  std::string shown() const { return shown_; }

 private:
  pid_t tool_ = -1;
  int terminal_ = -1;
  std::string shown_;
};

}  // namespace

TEST_CASE("a watch is drawn anew for a terminal that becomes smaller", "[process]") {
  ToolFixture fixture;
  REQUIRE(fixture.status({"run", "jobs", "--", "true"}) == 0);
  Watch watch(fixture, {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0});
  CHECK(watch.shows("no pings"));
  CHECK(watch.shown().find("more lines") == std::string::npos);
  watch.resize({.ws_row = 3, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0});
  CHECK(watch.shows("more lines"));
}
