#pragma once

#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

namespace distlock::testing {

/// A program on a terminal of its own, until destroyed. The first word is its path.
class OnTerminal {
 public:
  explicit OnTerminal(std::vector<std::string> words, const winsize* size = nullptr) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    program_ = forkpty(&terminal_, nullptr, nullptr, size);
    if (program_ == 0) {
      execv(pointers[0], pointers.data());
      _exit(99);
    }
    REQUIRE(program_ > 0);
  }
  ~OnTerminal() {
    kill(program_, SIGKILL);
    waitpid(program_, nullptr, 0);
    close(terminal_);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void resize(winsize size) const { REQUIRE(ioctl(terminal_, TIOCSWINSZ, &size) == 0); }

  /// Reads on until the text has come: 16 KiB at most, which are dozens of frames. False if nothing
  /// comes for as long as `patience`.
  bool shows(const std::string& text, std::chrono::milliseconds patience) {
    const std::size_t most = shown_.size() + 16384;
    pollfd waited{.fd = terminal_, .events = POLLIN, .revents = 0};
    std::array<char, 4096> part{};
    while (shown_.find(text) == std::string::npos) {
      if (shown_.size() > most || poll(&waited, 1, static_cast<int>(patience.count())) != 1)
        return false;
      const ssize_t got = read(terminal_, part.data(), part.size());
      if (got <= 0) return false;
      shown_.append(part.data(), static_cast<std::size_t>(got));
    }
    return true;
  }

  const std::string& shown() const { return shown_; }

 private:
  pid_t program_ = -1;
  int terminal_ = -1;
  std::string shown_;
};

}  // namespace distlock::testing
