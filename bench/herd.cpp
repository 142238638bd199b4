// usage: herd STORE URI PROCESSES
//
// So many processes wait for one lock, each with one thread. It is given up, and each of them gets
// it once. The commands that the server counts meanwhile, their pings among them, and whether they
// got it in the order in which they came. Prints a row of a markdown table. They end when all have
// had it: what a process does at its end is not counted.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "mongodb_server.h"
#include "percentiles.h"
#include "processes.h"

namespace distlock::bench {
namespace {

constexpr const char* kName = "bench_herd";
constexpr std::size_t kMost = 1000;

struct Shared {
  std::array<std::atomic<bool>, kMost> may_enter;
  std::atomic<bool> may_end{false};
  std::atomic<std::size_t> granted{0};
  std::array<std::atomic<std::size_t>, kMost> grants;  // In order, the processes that got it.
};

void wait_once(const ConnectionString& connection, std::size_t number, Shared& shared) {
  while (!shared.may_enter.at(number)) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  DistributedLock lock(connection, kName);
  lock.lock();
  shared.grants.at(shared.granted++) = number;
  lock.unlock();
  while (!shared.may_end) std::this_thread::sleep_for(std::chrono::milliseconds{100});
}

void await_grants(const Shared& shared, std::size_t count) {
  while (shared.granted < count) std::this_thread::sleep_for(std::chrono::milliseconds{1});
}

std::int64_t sum(const std::map<std::string, std::int64_t>& commands) {
  std::int64_t all = 0;
  for (const auto& [name, count] : commands) all += count;
  return all;
}

std::string per_grant(std::int64_t commands, double grants) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", static_cast<double>(commands) / grants);
  return text.data();
}

void measure(const char* label, const ConnectionString& connection, std::size_t processes) {
  if (processes < 1 || processes > kMost) throw std::runtime_error("1 to 1000 processes");
  auto& shared = shared_by_processes<Shared>();
  // Before this process has any thread.
  for (std::size_t number = 0; number < processes; ++number)
    started([&] { wait_once(connection, number, shared); });
  const auto store = open_store(connection);
  std::optional<MongodbServer> server;
  if (connection.kind() == StoreKind::mongodb) server.emplace(connection);
  DistributedLock holder(connection, kName);
  if (!holder.lock_try("bench")) throw std::runtime_error("the lock is not free");
  for (std::size_t number = 0; number < processes; ++number) {
    shared.may_enter.at(number) = true;
    await_line(*store, kName, number + 1);
  }
  const auto before = server ? server->commands() : std::map<std::string, std::int64_t>{};
  const Nanoseconds took = time_of([&] {
    holder.unlock();
    await_grants(shared, processes);
  });
  const auto after = server ? server->commands() : before;
  shared.may_end = true;
  await_ends();
  const auto grants = shared.grants.begin();
  const auto last = grants + static_cast<std::ptrdiff_t>(processes);
  std::size_t in_order = 1;
  for (auto at = grants + 1; at != last; ++at) in_order += *at > *(at - 1) ? 1 : 0;
  const auto grants_made = static_cast<double>(processes);
  std::printf("| %s | %zu | %zu | %.2f | %s | %s |\n", label, processes, in_order,
              microseconds(took) / 1000 / grants_made,
              server ? difference(before, after).c_str() : "",
              server ? per_grant(sum(after) - sum(before), grants_made).c_str() : "");
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: herd STORE URI PROCESSES");
  distlock::set_log_level(distlock::LogLevel::warning);
  distlock::bench::measure(argv[1], distlock::ConnectionString(argv[2]),
                           static_cast<std::size_t>(std::atoi(argv[3])));
} catch (const std::exception& error) {
  std::fprintf(stderr, "herd: %s\n", error.what());
  return 1;
}
