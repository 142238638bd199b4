#include "write_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <cerrno>
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
