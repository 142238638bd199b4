// usage: waiting STORE URI SECONDS PROCESSES HELD_MS [BETWEEN_MS [THREADS [never]]]
//
// Processes that want one lock, hold it for so long and stay away for so long: how often it changes
// hands, how evenly, and how long a hand-off takes. That is from before unlock() in one process to
// the return of lock() in another that waited. With one process: from one thread to another. Each
// process has so many threads that do it, which pass the lock on, or never. Prints a row of a
// markdown table.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "percentiles.h"
#include "processes.h"

namespace distlock::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Shared by the processes: when the lock was given up last, and by which of the contenders.
struct Shared {
  std::atomic<std::int64_t> released_at{0};
  std::atomic<int> releaser{-1};
};

struct Run {
  std::string uri;
  int number = 0;
  int processes = 1;
  int threads = 1;
  LockOptions options;
  std::chrono::milliseconds held{};
  std::chrono::milliseconds between{};
  Clock::time_point begin;
  Clock::time_point end;
};

struct Result {
  std::vector<int> grants;  // of each thread
  std::vector<Nanoseconds> hand_offs;
};

// One thread's. `contender` is its process, or the thread where there is one process.
std::vector<Nanoseconds> contend(const Run& run, Shared& shared, int contender, int& grants) {
  DistributedLock lock(ConnectionString(run.uri), "bench_waiting", run.options);
  std::vector<Nanoseconds> hand_offs;
  while (Clock::now() < run.end) {
    const auto asked = Clock::now();
    lock.lock();
    const auto got = Clock::now();
    const Nanoseconds released{shared.released_at};
    const bool counts = got >= run.begin && got < run.end;
    if (counts) ++grants;
    const bool waited = asked.time_since_epoch() < released && shared.releaser != contender;
    if (counts && waited) hand_offs.push_back(got.time_since_epoch() - released);
    std::this_thread::sleep_for(run.held);
    shared.releaser = contender;
    shared.released_at = Nanoseconds{Clock::now().time_since_epoch()}.count();
    lock.unlock();
    std::this_thread::sleep_for(run.between);
  }
  return hand_offs;
}

Result contend_by_threads(const Run& run, Shared& shared) {
  Result result;
  result.grants.resize(static_cast<std::size_t>(run.threads));
  std::vector<std::future<std::vector<Nanoseconds>>> threads;
  for (int i = 0; i < run.threads; ++i) {
    threads.push_back(std::async(std::launch::async, [&, i] {
      const int contender = run.processes == 1 ? i : run.number;
      return contend(run, shared, contender, result.grants[static_cast<std::size_t>(i)]);
    }));
  }
  for (auto& thread : threads) {
    const auto hand_offs = thread.get();
    result.hand_offs.insert(result.hand_offs.end(), hand_offs.begin(), hand_offs.end());
  }
  return result;
}

[[noreturn]] void run_contender(const Run& run, Shared& shared, int told) {
  try {
    const Result result = contend_by_threads(run, shared);
    bool sent = true;
    for (const int grants : result.grants)
      sent = sent && write(told, &grants, sizeof grants) == sizeof grants;
    for (const Nanoseconds sample : result.hand_offs)
      sent = sent && write(told, &sample, sizeof sample) == sizeof sample;
    _exit(sent ? 0 : 2);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "waiting: %s\n", error.what());
    _exit(1);
  }
}

Result result_from(int pipe, int threads) {
  Result result;
  for (int grants = 0; static_cast<int>(result.grants.size()) < threads;) {
    if (read(pipe, &grants, sizeof grants) != sizeof grants) return result;
    result.grants.push_back(grants);
  }
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

void measure(const char* store, Run run, std::chrono::seconds length) {
  auto& shared = shared_by_processes<Shared>();
  run.begin = Clock::now() + std::chrono::seconds{2};
  run.end = run.begin + length;
  std::vector<int> pipes;
  for (run.number = 0; run.number < run.processes; ++run.number)
    pipes.push_back(start(run, shared));
  Samples samples;
  int together = 0;
  std::vector<int> grants;
  std::vector<int> of_threads;
  for (const int pipe : pipes) {
    const Result result = result_from(pipe, run.threads);
    for (const Nanoseconds sample : result.hand_offs) samples.add(sample);
    grants.push_back(std::accumulate(result.grants.begin(), result.grants.end(), 0));
    of_threads.insert(of_threads.end(), result.grants.begin(), result.grants.end());
    together += grants.back();
  }
  while (wait(nullptr) > 0) {
  }
  if (together == 0) throw std::runtime_error("nobody got the lock");
  const auto [fewest, most] = std::minmax_element(grants.begin(), grants.end());
  const auto [least, greatest] = std::minmax_element(of_threads.begin(), of_threads.end());
  std::printf("| %s | %d × %d | %ld | %.3g | %d | %d | %d | %d | %.3f | %.3f | %.3f |\n", store,
              run.processes, run.threads, static_cast<long>(run.held.count()),
              together / std::chrono::duration<double>(length).count(), *fewest, *most, *least,
              *greatest, samples.percentile(50) / 1000, samples.percentile(99) / 1000,
              samples.percentile(100) / 1000);
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) {
  using namespace distlock::bench;
  if (argc < 6 || argc > 9) {
    std::fputs(
        "usage: waiting STORE URI SECONDS PROCESSES HELD_MS [BETWEEN_MS [THREADS [never]]]\n",
        stderr);
    return 64;
  }
  try {
    distlock::set_log_level(distlock::LogLevel::warning);
    Run run;
    run.uri = argv[2];
    run.processes = std::atoi(argv[4]);
    run.held = std::chrono::milliseconds{std::atoi(argv[5])};
    if (argc > 6) run.between = std::chrono::milliseconds{std::atoi(argv[6])};
    if (argc > 7) run.threads = std::atoi(argv[7]);
    if (argc > 8) run.options.pass_rule = distlock::PassRule::never;
    measure(argv[1], run, std::chrono::seconds{std::atoi(argv[3])});
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "waiting: %s\n", error.what());
    return 1;
  }
}
