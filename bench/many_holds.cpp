// usage: many_holds LABEL CONNECTION HOLDS INTERVALS PING_EVERY_MS
//
// The cost of keeping one lock, and then HOLDS of them, in one process: prints rows of a markdown
// table. The ping interval is shorter than anybody would have it, so that some pass.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "counting_store.h"
#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "mongodb_server.h"
#include "percentiles.h"
#include "resources.h"

namespace distlock::bench {
namespace {

using std::chrono::milliseconds;

struct Plan {
  std::string label;
  ConnectionString connection;
  int holds;
  int intervals;
  milliseconds ping_every;
};

struct Memory {
  std::size_t allocated;  // bytes in use, by malloc's own account
  std::size_t resident;
};

Memory memory() {
  std::size_t total = 0;
  std::size_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return {allocated(), resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE))};
}

class Holds {
 public:
  explicit Holds(const Plan& plan)
      : plan_(plan),
        store_(std::make_shared<CountingStore>(open_store(plan.connection))),
        pinger_(std::make_shared<DistributedLockPinger>(
            Environment{.store = store_}, PingerOptions{.ping_every = plan.ping_every})) {
    if (plan.connection.kind() == StoreKind::mongodb) server_.emplace(plan.connection);
    locks_.reserve(static_cast<std::size_t>(plan.holds));
  }

  void grow_to(int holds) {
    const Memory before = memory();
    const int more = holds - static_cast<int>(locks_.size());
    while (static_cast<int>(locks_.size()) < holds) take_one();
    const Memory after = memory();
    allocated_each_ = (after.allocated - before.allocated) / static_cast<std::size_t>(more);
    resident_each_ = (after.resident - before.resident) / static_cast<std::size_t>(more);
  }

  void print_row() {
    store_->wait_for_pings(store_->pings() + 1);
    const std::int64_t writes = store_->writes();
    const std::int64_t reads = store_->reads();
    const auto commands = server_commands();
    const Nanoseconds cpu = cpu_time();
    const Nanoseconds length =
        time_of([&] { store_->wait_for_pings(store_->pings() + plan_.intervals); });
    const Nanoseconds cpu_used = cpu_time() - cpu;
    std::printf("| %s | %zu | %lld | %lld | %lld | %s | %.3f %% | %.2f |", plan_.label.c_str(),
                locks_.size(), static_cast<long long>(plan_.intervals),
                static_cast<long long>(store_->writes() - writes),
                static_cast<long long>(store_->reads() - reads),
                server_ ? difference(commands, server_commands()).c_str() : "",
                100. * cpu_used / length, microseconds(cpu_used) / 1000 / plan_.intervals);
    if (locks_.size() > 1) std::printf(" %zu | %zu |\n", allocated_each_, resident_each_);
    if (locks_.size() == 1) std::printf(" | |\n");
    std::fflush(stdout);
  }

 private:
  void take_one() {
    const std::string name = "bench.held." + std::to_string(locks_.size());
    locks_.push_back(std::make_unique<DistributedLock>(pinger_, name));
    if (!locks_.back()->lock_try("bench")) throw std::runtime_error(name + " is busy");
  }

  std::map<std::string, std::int64_t> server_commands() {
    return server_ ? server_->commands() : std::map<std::string, std::int64_t>();
  }

  const Plan& plan_;
  std::shared_ptr<CountingStore> store_;
  std::shared_ptr<DistributedLockPinger> pinger_;
  std::optional<MongodbServer> server_;
  std::vector<std::unique_ptr<DistributedLock>> locks_;
  std::size_t allocated_each_ = 0;
  std::size_t resident_each_ = 0;
};

void measure(const Plan& plan) {
  Holds holds(plan);
  holds.grow_to(1);
  holds.print_row();
  holds.grow_to(plan.holds);
  holds.print_row();
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc != 6)
    throw std::runtime_error("usage: many_holds LABEL CONNECTION HOLDS INTERVALS PING_EVERY_MS");
  distlock::set_log_level(distlock::LogLevel::warning);
  distlock::bench::measure({.label = argv[1],
                            .connection = distlock::ConnectionString(argv[2]),
                            .holds = std::atoi(argv[3]),
                            .intervals = std::atoi(argv[4]),
                            .ping_every = std::chrono::milliseconds{std::atoi(argv[5])}});
} catch (const std::exception& error) {
  std::fprintf(stderr, "many_holds: %s\n", error.what());
  return 1;
}
