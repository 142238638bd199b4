// usage: many_threads LABEL CONNECTION SECONDS THREADS...
//
// Threads of one process with a lock each of its own, and the pairs of claim and release that they
// do together. Beside them as many threads send the two bare commands of the store, each on a
// connection of its own. The two sides take turns. Prints rows of a markdown table.

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bare_lock.h"
#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"

namespace distlock::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kParts = 7;

class LibraryLock : public BareLock {
 public:
  LibraryLock(const std::shared_ptr<DistributedLockPinger>& pinger, const std::string& name)
      : lock_(pinger, name) {}

  void claim() override {
    if (!lock_.lock_try("bench")) throw std::runtime_error("somebody else has the lock");
  }
  void release() override {
    if (lock_.unlock() != UnlockResult::released) throw std::runtime_error("not released");
  }

 private:
  DistributedLock lock_;
};

using Locks = std::vector<std::unique_ptr<BareLock>>;

Locks bare_locks(const ConnectionString& connection, int threads) {
  Locks locks;
  for (int i = 0; i < threads; ++i) {
    const std::string name = "bench.bare" + std::to_string(i);
    locks.push_back(connection.kind() == StoreKind::sqlite ? bare_sqlite_lock(connection, name)
                                                           : bare_mongodb_lock(connection, name));
  }
  return locks;
}

Locks library_locks(const ConnectionString& connection, int threads) {
  const auto pinger =
      std::make_shared<DistributedLockPinger>(Environment{.store = open_store(connection)});
  Locks locks;
  for (int i = 0; i < threads; ++i) {
    locks.push_back(std::make_unique<LibraryLock>(pinger, "bench.own" + std::to_string(i)));
  }
  return locks;
}

// Pairs a second of all together.
double rate(const Locks& locks, std::chrono::duration<double> length) {
  std::atomic<std::int64_t> pairs = 0;
  std::atomic<bool> failed = false;
  const auto begun = Clock::now();
  const auto end = begun + length;
  const auto work = [&](BareLock& lock) {
    try {
      for (; Clock::now() < end; ++pairs) {
        lock.claim();
        lock.release();
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "many_threads: %s\n", error.what());
      failed = true;
    }
  };
  boost::thread_group threads;
  for (const auto& lock : locks) threads.create_thread([&work, &lock] { work(*lock); });
  threads.join_all();
  if (failed) throw std::runtime_error("a thread could not go on");
  return static_cast<double>(pairs) / std::chrono::duration<double>(Clock::now() - begun).count();
}

struct Rates {
  std::array<double, kParts> each{};

  double median() const { return each[kParts / 2]; }
};

void print_row(const char* label, int threads, Rates library, Rates bare) {
  std::sort(library.each.begin(), library.each.end());
  std::sort(bare.each.begin(), bare.each.end());
  std::printf("| %s | %d | %.0f | %.0f to %.0f | %.0f | %.2f |\n", label, threads, library.median(),
              library.each.front(), library.each.back(), bare.median(),
              library.median() / bare.median());
  std::fflush(stdout);
}

void measure(const char* label, const ConnectionString& connection,
             std::chrono::duration<double> length, int threads) {
  const Locks bare = bare_locks(connection, threads);
  const Locks library = library_locks(connection, threads);
  rate(bare, length / 10);
  rate(library, length / 10);
  Rates of_bare;
  Rates of_library;
  for (int part = 0; part < kParts; ++part) {
    of_library.each[part] = rate(library, length / (2 * kParts));
    of_bare.each[part] = rate(bare, length / (2 * kParts));
  }
  print_row(label, threads, of_library, of_bare);
}

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc < 5) throw std::runtime_error("usage: many_threads LABEL CONNECTION SECONDS THREADS...");
  distlock::set_log_level(distlock::LogLevel::warning);
  for (int i = 4; i < argc; ++i) {
    distlock::bench::measure(argv[1], distlock::ConnectionString(argv[2]),
                             std::chrono::duration<double>(std::atof(argv[3])), std::atoi(argv[i]));
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "many_threads: %s\n", error.what());
  return 1;
}
