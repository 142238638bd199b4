#include "write_line.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <future>
#include <string>

#include "support/asleep.h"

using namespace distlock;
using namespace distlock::testing;

TEST_CASE("a line is written whole though another program made the descriptor non-blocking",
          "[log][R12]") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  std::size_t before = 0;
  while (write(ends[1], "x", 1) == 1) ++before;
  REQUIRE(errno == EAGAIN);
  const std::string line(100'000, 'y');
  std::atomic<pid_t> id = 0;
  std::atomic<bool> ended = false;
  boost::thread writer([&] {
    id = gettid();
    write_line(ends[1], line, 60'000);
    close(ends[1]);
    ended = true;
  });
  while (!ended && (id == 0 || !asleep(id))) boost::this_thread::yield();
  std::string read_all;
  std::array<char, 4096> part{};
  for (ssize_t got = 1; got > 0;) {
    got = read(ends[0], part.data(), part.size());
    read_all.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  writer.join();
  close(ends[0]);
  CHECK(read_all == std::string(before, 'x') + line + '\n');
}

TEST_CASE("a line that nobody reads is given up when the patience ends", "[log][R12][threads]") {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  while (write(ends[1], "x", 1) == 1) continue;
  REQUIRE(errno == EAGAIN);
  auto given_up = std::async(std::launch::async, [&] { write_line(ends[1], "lost", 1); });
  CHECK(given_up.wait_for(std::chrono::minutes{1}) == std::future_status::ready);
  // Room for a line that is waited for without an end.
  std::array<char, 4096> part{};
  CHECK(read(ends[0], part.data(), part.size()) > 0);
  given_up.wait();
  for (const int end : ends) close(end);
}

TEST_CASE("a line whose write is interrupted by a signal is written all the same",
          "[log][R12][threads]") {
  static std::atomic<bool> interrupted;
  interrupted = false;
  struct sigaction notes {};
  notes.sa_handler = [](int) { interrupted = true; };  // Without SA_RESTART.
  struct sigaction before {};
  REQUIRE(sigaction(SIGUSR1, &notes, &before) == 0);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  REQUIRE(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
  std::size_t filled = 0;
  while (write(ends[1], "x", 1) == 1) ++filled;
  REQUIRE(fcntl(ends[1], F_SETFL, 0) == 0);
  std::atomic<pid_t> id = 0;
  boost::thread writer([&] {
    id = gettid();
    write_line(ends[1], "line", 60'000);
    close(ends[1]);
  });
  await_sleep(id);
  REQUIRE(pthread_kill(writer.native_handle(), SIGUSR1) == 0);
  while (!interrupted) boost::this_thread::yield();
  std::string read_all;
  std::array<char, 4096> part{};
  for (ssize_t got = 1; got > 0;) {
    got = read(ends[0], part.data(), part.size());
    read_all.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  writer.join();
  close(ends[0]);
  REQUIRE(sigaction(SIGUSR1, &before, nullptr) == 0);
  CHECK(read_all == std::string(filled, 'x') + "line\n");
}
