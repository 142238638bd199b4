// usage: idle_waiters STORE URI PROCESSES THREADS SECONDS
//
// The cost of waiting while nothing happens: so many processes wait for one lock, with so many
// threads each. Commands at the server, processor time, and memory of each thread. Prints a row of
// a markdown table.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "mongodb_server.h"
#include "percentiles.h"
#include "processes.h"
#include "resources.h"

namespace distlock::bench {
namespace {

constexpr const char* kName = "bench_idle";

struct Plan {
  ConnectionString connection;
  int processes;
  int threads;
};

struct Shared {
  std::atomic<int> settled{0};  // processes
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> cpu{0};  // nanoseconds
};

// Longer than until the first look for a deadlock.
constexpr std::chrono::seconds kSettling{7};

std::int64_t allocated_when_settled() {
  std::this_thread::sleep_for(kSettling);
  return static_cast<std::int64_t>(allocated());
}

// A process that failed does not get there.
void await_settled(const Plan& plan, const Shared& shared) {
  await([&] { return shared.settled >= plan.processes; }, "not all processes wait");
}

// The memory of a thread is the difference that the second half makes: connections, caches and the
// bell are no cost of a thread.
void wait_idly(const Plan& plan, Shared& shared) {
  std::vector<std::jthread> threads;
  std::stop_source stop;
  const auto add = [&] {
    threads.emplace_back([&] {
      DistributedLock lock(plan.connection, kName);
      static_cast<void>(lock.lock(stop.get_token()));
    });
  };
  const int half = plan.threads / 2;
  for (int i = half; i < plan.threads; ++i) add();
  const std::int64_t before = allocated_when_settled();
  for (int i = 0; i < half; ++i) add();
  const std::int64_t after = allocated_when_settled();
  if (half > 0) shared.bytes += (after - before) / half;
  ++shared.settled;
  await_settled(plan, shared);
  const Nanoseconds cpu = cpu_time();
  while (!shared.over) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  shared.cpu += (cpu_time() - cpu).count();
  stop.request_stop();
}

void measure(const char* label, const Plan& plan, std::chrono::seconds length) {
  auto& shared = shared_by_processes<Shared>();
  for (int i = 0; i < plan.processes; ++i) started([&] { wait_idly(plan, shared); });
  const auto store = open_store(plan.connection);
  std::optional<MongodbServer> server;
  if (plan.connection.kind() == StoreKind::mongodb) server.emplace(plan.connection);
  DistributedLock holder(plan.connection, kName);
  while (!holder.lock_try("bench")) std::this_thread::sleep_for(std::chrono::milliseconds{50});
  await_line(*store, kName, static_cast<std::size_t>(plan.processes));
  await_settled(plan, shared);
  const auto before = server ? server->commands() : std::map<std::string, std::int64_t>{};
  std::this_thread::sleep_for(length);
  const auto after = server ? server->commands() : before;
  shared.over = true;
  await_ends();
  holder.unlock();
  const double seconds = std::chrono::duration<double>(length).count();
  std::printf("| %s | %d × %d | %.0f | %s | %.2f | %.0f |\n", label, plan.processes, plan.threads,
              seconds, server ? difference(before, after).c_str() : "",
              static_cast<double>(shared.cpu) / 1e9 / seconds * 100,
              static_cast<double>(shared.bytes) / plan.processes);
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc != 6)
    throw std::runtime_error("usage: idle_waiters STORE URI PROCESSES THREADS SECONDS");
  distlock::set_log_level(distlock::LogLevel::warning);
  distlock::bench::measure(argv[1],
                           {.connection = distlock::ConnectionString(argv[2]),
                            .processes = std::atoi(argv[3]),
                            .threads = std::atoi(argv[4])},
                           std::chrono::seconds{std::atoi(argv[5])});
} catch (const std::exception& error) {
  std::fprintf(stderr, "idle_waiters: %s\n", error.what());
  return 1;
}
