// usage: mirrored LABEL CONNECTION SECONDS ROUNDS
//
// The cost of an uncontended claim and durable release on a mirrored store, against that on each of
// its members alone, all through the library: prints a row of a markdown table. CONNECTION names
// plain MongoDB servers: mirrored+mongodb://A,B,C/DATABASE. They take turns in small blocks, so
// that whatever else the machine does meets all; each round gives a ratio, with the slowest member
// of it.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "mongodb_server.h"
#include "percentiles.h"

namespace distlock::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPairsInBlock = 10;
constexpr int kWarmUpPairs = 100;
constexpr int kCountedPairs = 100;

/// A lock of one store, with a pinger of its own. Its first ping is the only one for ten minutes,
/// so that none is among the commands that are counted.
class Side {
 public:
  explicit Side(const ConnectionString& connection)
      : lock_(std::make_shared<DistributedLockPinger>(
                  Environment{.store = open_store(connection)},
                  PingerOptions{.ping_every = std::chrono::minutes{10}}),
              "bench.mirrored", LockOptions{.release_rule = ReleaseRule::durable}) {}

  void run_block(int pairs, Samples& samples) {
    for (int i = 0; i < pairs; ++i) samples.add(time_of([this] { pair(); }));
  }

 private:
  void pair() {
    if (!lock_.lock_try("bench")) throw std::runtime_error("bench.mirrored is busy");
    if (lock_.unlock() != UnlockResult::released) throw std::runtime_error("not released");
  }

  DistributedLock lock_;
};

/// Of one member alone the locks are in a database of their own: its `locks` say that the member is
/// of a set.
ConnectionString alone(const ConnectionString& member) {
  const std::string& text = member.text();
  const auto database = text.find('/', text.find("://") + 3);
  const auto options = text.find('?');
  if (database == std::string::npos) throw std::runtime_error("CONNECTION names no database");
  return ConnectionString(text.substr(0, database) + "/bench_alone" +
                          (options == std::string::npos ? "" : text.substr(options)));
}

struct Round {
  double whole;    // microseconds, the median of a claim and release
  double slowest;  // the same of the slowest member
};

class Comparison {
 public:
  explicit Comparison(const ConnectionString& connection) : whole_(connection) {
    for (const ConnectionString& member : connection.members()) {
      members_.push_back(std::make_unique<Side>(alone(member)));
      servers_.push_back(std::make_unique<MongodbServer>(member));
    }
  }

  void warm_up() {
    Samples ignored;
    whole_.run_block(kWarmUpPairs, ignored);
    for (const auto& member : members_) member->run_block(kWarmUpPairs, ignored);
  }

  Round round(std::chrono::duration<double> length) {
    Samples whole;
    std::vector<Samples> alone(members_.size());
    const auto end = Clock::now() + length;
    while (Clock::now() < end) {
      whole_.run_block(kPairsInBlock, whole);
      for (std::size_t i = 0; i < members_.size(); ++i)
        members_[i]->run_block(kPairsInBlock, alone[i]);
    }
    double slowest = 0;
    for (const Samples& one : alone) slowest = std::max(slowest, one.percentile(50));
    return {.whole = whole.percentile(50), .slowest = slowest};
  }

  /// The commands that each member gets for kCountedPairs.
  std::string commands() {
    std::vector<std::map<std::string, std::int64_t>> before;
    for (const auto& server : servers_) before.push_back(server->commands());
    Samples ignored;
    whole_.run_block(kCountedPairs, ignored);
    std::string text;
    for (std::size_t i = 0; i < servers_.size(); ++i)
      text += (i == 0 ? "" : "; ") + difference(before[i], servers_[i]->commands());
    return text;
  }

 private:
  Side whole_;
  std::vector<std::unique_ptr<Side>> members_;
  std::vector<std::unique_ptr<MongodbServer>> servers_;
};

std::string number(const char* form, double value) {
  char text[32];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

/// "median | least to most".
std::string spread(const char* form, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return number(form, values[values.size() / 2]) + " | " + number(form, values.front()) + " to " +
         number(form, values.back());
}

void measure(const char* label, const ConnectionString& connection,
             std::chrono::duration<double> length, int rounds) {
  Comparison comparison(connection);
  comparison.warm_up();
  const std::string commands = comparison.commands();
  std::vector<double> slowest;
  std::vector<double> whole;
  std::vector<double> ratio;
  for (int i = 0; i < rounds; ++i) {
    const Round one = comparison.round(length / rounds);
    slowest.push_back(one.slowest);
    whole.push_back(one.whole);
    ratio.push_back(one.whole / one.slowest);
  }
  std::printf("| %s | %s | %s | %s | %s |\n", label, spread("%.1f", slowest).c_str(),
              spread("%.1f", whole).c_str(), spread("%.2f", ratio).c_str(), commands.c_str());
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc != 5 || std::atoi(argv[4]) < 1)
    throw std::runtime_error("usage: mirrored LABEL CONNECTION SECONDS ROUNDS");
  distlock::set_log_level(distlock::LogLevel::warning);
  distlock::bench::measure(argv[1], distlock::ConnectionString(argv[2]),
                           std::chrono::duration<double>(std::atof(argv[3])), std::atoi(argv[4]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "mirrored: %s\n", error.what());
  return 1;
}
