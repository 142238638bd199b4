// usage: holder_calls CALLS
//
// The costs of a holder in each round of its loop, as rows of a markdown table. Nothing of it asks
// the store, so that the store does not matter.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "percentiles.h"

namespace distlock::bench {
namespace {

constexpr std::size_t kParts = 11;

template <class Call>
void print_row(const char* name, int calls, Call&& call) {
  std::array<double, kParts> each{};
  for (double& part : each) {
    const Nanoseconds length = time_of([&] {
      for (int i = 0; i < calls; ++i) call();
    });
    part = static_cast<double>(length.count()) / calls;
  }
  std::sort(each.begin(), each.end());
  std::printf("| `%s` | %.1f | %.1f | %.1f |\n", name, each.front(), each[kParts / 2], each.back());
}

void measure(int calls) {
  const auto pinger = std::make_shared<DistributedLockPinger>(
      Environment{.store = open_store(ConnectionString("memory:"))});
  DistributedLock lock(pinger, "bench.held");
  if (!lock.lock_try("bench")) throw std::runtime_error("bench.held is busy");
  SteadyTime latest;
  print_row("steady_now()", calls, [&] { latest = std::max(latest, host_clock()->steady_now()); });
  print_row("check()", calls, [&] { lock.check(); });
  print_row("valid_until()", calls, [&] { latest = std::max(latest, lock.valid_until()); });
  if (latest == SteadyTime{}) throw std::runtime_error("no time at all");
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: holder_calls CALLS");
  distlock::set_log_level(distlock::LogLevel::warning);
  distlock::bench::measure(std::atoi(argv[1]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "holder_calls: %s\n", error.what());
  return 1;
}
