// usage: waiting STORE URI SECONDS PROCESSES HELD_MS [BETWEEN_MS]
//
// Processes that want one lock, hold it for so long and stay away for so long: how often it changes
// hands, how evenly, and how long a hand-off takes. That is from before unlock() in one process to
// the return of lock() in another that waited. Prints a row of a markdown table.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "percentiles.h"

namespace distlock::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Shared by the processes: when the lock was given up last, and by which of them.
struct Shared {
  std::atomic<std::int64_t> released_at{0};
  std::atomic<int> releaser{-1};
};

struct Run {
  std::string uri;
  int number = 0;
  std::chrono::milliseconds held{};
  std::chrono::milliseconds between{};
  Clock::time_point begin;
  Clock::time_point end;
};

struct Result {
  int grants = 0;
  std::vector<Nanoseconds> hand_offs;
};

Result contend(const Run& run, Shared& shared) {
  DistributedLock lock(ConnectionString(run.uri), "bench_waiting");
  Result result;
  while (Clock::now() < run.end) {
    const auto asked = Clock::now();
    lock.lock();
    const auto got = Clock::now();
    const Nanoseconds released{shared.released_at};
    const bool counts = got >= run.begin && got < run.end;
    if (counts) ++result.grants;
    const bool waited = asked.time_since_epoch() < released && shared.releaser != run.number;
    if (counts && waited) result.hand_offs.push_back(got.time_since_epoch() - released);
    std::this_thread::sleep_for(run.held);
    shared.releaser = run.number;
    shared.released_at = Nanoseconds{Clock::now().time_since_epoch()}.count();
    lock.unlock();
    std::this_thread::sleep_for(run.between);
  }
  return result;
}

[[noreturn]] void run_contender(const Run& run, Shared& shared, int told) {
  try {
    const Result result = contend(run, shared);
    bool sent = write(told, &result.grants, sizeof result.grants) == sizeof result.grants;
    for (const Nanoseconds sample : result.hand_offs)
      sent = sent && write(told, &sample, sizeof sample) == sizeof sample;
    _exit(sent ? 0 : 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "waiting: %s\n", error.what());
    _exit(1);
  }
}

Result result_from(int pipe) {
  Result result;
  if (read(pipe, &result.grants, sizeof result.grants) != sizeof result.grants) return result;
  Nanoseconds sample{};
  while (read(pipe, &sample, sizeof sample) == sizeof sample) result.hand_offs.push_back(sample);
  return result;
}

int start(const Run& run, Shared& shared) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    close(ends[0]);
    run_contender(run, shared, ends[1]);
  }
  close(ends[1]);
  return ends[0];
}

void measure(const char* store, Run run, std::chrono::seconds length, int processes) {
  void* const page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) throw std::runtime_error("no memory");
  auto& shared = *new (page) Shared;
  run.begin = Clock::now() + std::chrono::seconds{2};
  run.end = run.begin + length;
  std::vector<int> pipes;
  for (run.number = 0; run.number < processes; ++run.number) pipes.push_back(start(run, shared));
  Samples samples;
  int together = 0;
  std::vector<int> grants;
  for (const int pipe : pipes) {
    const Result result = result_from(pipe);
    for (const Nanoseconds sample : result.hand_offs) samples.add(sample);
    grants.push_back(result.grants);
    together += result.grants;
  }
  while (wait(nullptr) > 0) {
  }
  if (together == 0) throw std::runtime_error("nobody got the lock");
  const auto [fewest, most] = std::minmax_element(grants.begin(), grants.end());
  std::printf("| %s | %d | %ld | %.0f | %d | %d | %.2f | %.2f | %.2f |\n", store, processes,
              static_cast<long>(run.held.count()),
              together / std::chrono::duration<double>(length).count(), *fewest, *most,
              samples.percentile(50) / 1000, samples.percentile(99) / 1000,
              samples.percentile(100) / 1000);
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) {
  using namespace distlock::bench;
  if (argc < 6 || argc > 7) {
    std::fputs("usage: waiting STORE URI SECONDS PROCESSES HELD_MS [BETWEEN_MS]\n", stderr);
    return 64;
  }
  try {
    distlock::set_log_level(distlock::LogLevel::warning);
    Run run;
    run.uri = argv[2];
    run.held = std::chrono::milliseconds{std::atoi(argv[5])};
    if (argc == 7) run.between = std::chrono::milliseconds{std::atoi(argv[6])};
    measure(argv[1], run, std::chrono::seconds{std::atoi(argv[3])}, std::atoi(argv[4]));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "waiting: %s\n", error.what());
    return 1;
  }
}
