// usage: killed_holders STORE URI ROUNDS
//
// A process holds a lock and is killed (SIGKILL); another one waits for it, with the default window
// of 16 minutes. How long it takes from before the kill to the return of lock(). Prints a row of a
// markdown table.

#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "percentiles.h"
#include "processes.h"

namespace distlock::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Shared by the processes.
struct Shared {
  std::atomic<bool> held{false};
  std::atomic<bool> waiting{false};
  std::atomic<std::int64_t> got_at{0};
};

void await(const std::atomic<bool>& happened) {
  const auto until = Clock::now() + std::chrono::seconds{30};
  while (!happened) {
    if (Clock::now() > until) throw std::runtime_error("a process does not get on");
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
}

Nanoseconds round(const std::string& uri, Shared& shared) {
  shared.held = shared.waiting = false;
  const pid_t holder = started([&] {
    DistributedLock lock(ConnectionString(uri), "bench_killed");
    lock.lock();
    shared.held = true;
    while (true) pause();
  });
  await(shared.held);
  const pid_t waiter = started([&] {
    DistributedLock lock(ConnectionString(uri), "bench_killed");
    lock.on_waiting([&](const WaitReport&) { shared.waiting = true; });
    lock.lock();
    shared.got_at = Nanoseconds{Clock::now().time_since_epoch()}.count();
    lock.unlock();
  });
  await(shared.waiting);
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  const Nanoseconds killed{Clock::now().time_since_epoch()};
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  int status = 1;
  waitpid(waiter, &status, 0);
  if (status != 0) throw std::runtime_error("the waiter failed");
  return Nanoseconds{shared.got_at} - killed;
}

void measure(const char* store, const std::string& uri, int rounds) {
  auto& shared = shared_by_processes<Shared>();
  Samples samples;
  for (int i = 0; i < rounds; ++i) samples.add(round(uri, shared));
  std::printf("| %s | %d | %.1f | %.1f | %.1f |\n", store, rounds, samples.percentile(50) / 1000,
              samples.percentile(99) / 1000, samples.percentile(100) / 1000);
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: killed_holders STORE URI ROUNDS\n", stderr);
    return 64;
  }
  try {
    distlock::set_log_level(distlock::LogLevel::warning);
    distlock::bench::measure(argv[1], argv[2], std::atoi(argv[3]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "killed_holders: %s\n", error.what());
    return 1;
  }
}
