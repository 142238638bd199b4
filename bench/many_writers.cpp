// usage: many_writers STORE URI SECONDS PROCESSES...
//
// Processes with a lock each of its own in one store, which claim and release for so long: how much
// they do together, how evenly, and how long one waits. Prints rows of a markdown table.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "percentiles.h"

namespace distlock::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Of one process: how long each pair took.
std::vector<Nanoseconds> pairs(const std::string& uri, const std::string& name,
                               Clock::time_point begin, Clock::time_point end) {
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = open_store(ConnectionString(uri))});
  DistributedLock lock(pinger, name);
  const auto pair = [&] {
    if (!lock.lock_try("bench")) throw std::runtime_error(name + " is busy");
    lock.unlock();
  };
  while (Clock::now() < begin) pair();
  std::vector<Nanoseconds> each;
  while (Clock::now() < end) each.push_back(time_of(pair));
  return each;
}

[[noreturn]] void run_writer(const std::string& uri, const std::string& name, int told,
                             Clock::time_point begin, Clock::time_point end) {
  try {
    for (const Nanoseconds sample : pairs(uri, name, begin, end)) {
      if (write(told, &sample, sizeof sample) != sizeof sample) _exit(2);
    }
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "many_writers: %s\n", error.what());
    _exit(1);
  }
}

std::vector<Nanoseconds> samples_from(int pipe) {
  std::vector<Nanoseconds> each;
  Nanoseconds sample{};
  while (read(pipe, &sample, sizeof sample) == sizeof sample) each.push_back(sample);
  close(pipe);
  return each;
}

// Each process's pairs.
std::vector<std::vector<Nanoseconds>> measure(const std::string& uri, int seconds, int processes) {
  const auto begin = Clock::now() + std::chrono::milliseconds{500};
  const auto end = begin + std::chrono::seconds{seconds};
  std::vector<int> pipes;
  for (int i = 0; i < processes; ++i) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
    if (fork() == 0) run_writer(uri, "bench.writer" + std::to_string(i), ends[1], begin, end);
    close(ends[1]);
    pipes.push_back(ends[0]);
  }
  std::vector<std::vector<Nanoseconds>> each;
  for (const int pipe : pipes) each.push_back(samples_from(pipe));
  int failed = 0;
  for (int status = 0; wait(&status) > 0;) failed += status == 0 ? 0 : 1;
  if (failed > 0) throw std::runtime_error("a process could not write");
  return each;
}

void print_row(const char* store, const std::string& uri, int seconds, int processes) {
  Samples all;
  std::size_t together = 0;
  std::vector<std::size_t> shares;
  for (const auto& own : measure(uri, seconds, processes)) {
    for (const Nanoseconds sample : own) all.add(sample);
    together += own.size();
    shares.push_back(own.size());
  }
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  std::printf("| %s | %d | %.0f | %zu | %zu | %.0f | %.0f | %.0f |\n", store, processes,
              static_cast<double>(together) / seconds, *least, *most, all.percentile(50),
              all.percentile(99), all.percentile(100));
  std::fflush(stdout);
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc < 5) throw std::runtime_error("usage: many_writers STORE URI SECONDS PROCESSES...");
  distlock::set_log_level(distlock::LogLevel::warning);
  for (int i = 4; i < argc; ++i) {
    distlock::bench::print_row(argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[i]));
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "many_writers: %s\n", error.what());
  return 1;
}
