// usage: claim_release LABEL CONNECTION SECONDS
//
// The cost of an uncontended claim and release, against the two bare commands of the store:
// prints rows of a markdown table. The two take turns in small blocks, so that whatever else the
// machine does meets both; the run is cut into parts to show how far the ratio can be trusted.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "bare_lock.h"
#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "percentiles.h"

namespace distlock::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kParts = 5;
constexpr int kPairsInBlock = 10;
// Enough for SQLite's write-ahead log to reach its full size: while it grows, a file system may
// take ten times as long over each write.
constexpr int kWarmUpPairs = 400;

struct Timings {
  Samples claim;
  Samples release;
  Samples pair;

  void add(const Timings& more) {
    claim.add(more.claim);
    release.add(more.release);
    pair.add(more.pair);
  }
};

class LibraryLock : public BareLock {
 public:
  explicit LibraryLock(const ConnectionString& connection) : lock_(connection, "bench.distlock") {}

  void claim() override {
    if (!lock_.lock_try("bench")) throw std::runtime_error("bench.distlock is busy");
  }
  void release() override {
    if (lock_.unlock() != UnlockResult::released) throw std::runtime_error("not released");
  }

 private:
  DistributedLock lock_;
};

std::unique_ptr<BareLock> bare_lock(const ConnectionString& connection) {
  return connection.kind() == StoreKind::sqlite ? bare_sqlite_lock(connection)
                                                : bare_mongodb_lock(connection);
}

void run_block(BareLock& lock, int pairs, Timings& timings) {
  for (int i = 0; i < pairs; ++i) {
    const Nanoseconds claim = time_of([&] { lock.claim(); });
    const Nanoseconds release = time_of([&] { lock.release(); });
    timings.claim.add(claim);
    timings.release.add(release);
    timings.pair.add(claim + release);
  }
}

struct Sides {
  Timings bare;
  Timings library;

  double ratio() const { return library.pair.percentile(50) / bare.pair.percentile(50); }
};

void print_row(const std::string& label, const char* step, const Samples& bare,
               const Samples& library) {
  std::printf("| %s | %s |", label.c_str(), step);
  for (const Samples* side : {&bare, &library}) {
    for (const double percent : {50., 90., 99.}) std::printf(" %.1f |", side->percentile(percent));
  }
  std::printf(" %.2f |", library.percentile(50) / bare.percentile(50));
}

void print(const std::string& label, const Sides& all, const std::array<double, kParts>& ratios) {
  print_row(label, "claim", all.bare.claim, all.library.claim);
  std::printf(" |\n");
  print_row(label, "release", all.bare.release, all.library.release);
  std::printf(" |\n");
  print_row(label, "**both**", all.bare.pair, all.library.pair);
  std::printf(" %.2f to %.2f |\n", ratios.front(), ratios.back());
}

void measure(const std::string& label, const ConnectionString& connection,
             std::chrono::duration<double> length) {
  const auto bare = bare_lock(connection);
  LibraryLock library(connection);
  Timings warm_up;
  run_block(*bare, kWarmUpPairs, warm_up);
  run_block(library, kWarmUpPairs, warm_up);

  Sides all;
  std::array<double, kParts> ratios{};
  for (double& ratio : ratios) {
    Sides part;
    const auto end = Clock::now() + length / kParts;
    while (Clock::now() < end) {
      run_block(*bare, kPairsInBlock, part.bare);
      run_block(library, kPairsInBlock, part.library);
    }
    ratio = part.ratio();
    all.bare.add(part.bare);
    all.library.add(part.library);
  }
  std::sort(ratios.begin(), ratios.end());
  print(label, all, ratios);
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: claim_release LABEL CONNECTION SECONDS");
  distlock::set_log_level(distlock::LogLevel::warning);
  distlock::bench::measure(argv[1], distlock::ConnectionString(argv[2]),
                           std::chrono::duration<double>(std::atof(argv[3])));
} catch (const std::exception& error) {
  std::fprintf(stderr, "claim_release: %s\n", error.what());
  return 1;
}
