#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <ext/stdio_sync_filebuf.h>
#include <iostream>
#include <string>

namespace distlock::cli::testing {

/// While it lives, standard error is a pipe, and std::cerr and std::clog write there: the reports
/// of Catch may keep them for themselves. At its end all is as before.
class ErrorPipe {
 public:
  ErrorPipe() {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    REQUIRE(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    REQUIRE(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    close(ends[1]);
    read_end_ = ends[0];
    std::cerr.rdbuf(&direct_);
    std::clog.rdbuf(&direct_);
  }
  ~ErrorPipe() {
    std::cerr.rdbuf(cerr_);
    std::clog.rdbuf(clog_);
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(read_end_);
  }
  ErrorPipe(const ErrorPipe&) = delete;
  ErrorPipe& operator=(const ErrorPipe&) = delete;

  /// All that was written since the last call. Waits for nothing.
  std::string written() const {
    std::string text;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = read(read_end_, part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<std::size_t>(got));
    return text;
  }

 private:
  __gnu_cxx::stdio_sync_filebuf<char> direct_{stderr};
  std::streambuf* const cerr_ = std::cerr.rdbuf();
  std::streambuf* const clog_ = std::clog.rdbuf();
  const int before_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  int read_end_ = -1;
};

}  // namespace distlock::cli::testing
