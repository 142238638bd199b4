// usage: many_documents LABEL CONNECTION COUNT...
//
// The costs of a ping, and of the removal of old pings, in a store full of other processes'
// documents: COUNT locks and COUNT pings, smallest first. Also of a look for deadlocks, beside a
// list of all. Prints rows of a markdown table. One process in a hundred is long dead and holds
// nothing, so that its ping is to be removed; one is long dead and holds its lock, so that it is
// not.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/line.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "documents.h"
#include "mongodb_server.h"
#include "percentiles.h"

namespace distlock::bench {
namespace {

constexpr int kPingRounds = 200;
constexpr int kLooks = 7;
constexpr int kCleanups = 7;
constexpr std::chrono::days kForgetAfter{4};
constexpr std::chrono::days kLongDead{10};
constexpr int kDeadOneIn = 100;

// As if `like` had come from another process.
DocumentPair numbered(int number, const PingRecord& like) {
  const bool dead_and_free = number % kDeadOneIn == 0;
  const bool dead = dead_and_free || number % kDeadOneIn == 1;
  DocumentPair pair;
  pair.ping = {"host" + std::to_string(number) + ":1700000000:1234567890",
               dead ? like.ping - kLongDead : like.ping, like.clock};
  pair.lock.name = "bench.document." + std::to_string(number);
  pair.lock.state = dead_and_free ? LockState::free : LockState::taken;
  pair.lock.process = pair.ping.process;
  pair.lock.who = pair.ping.process + ":thread1:1234567890";
  pair.lock.why = "bench";
  pair.lock.when = pair.ping.ping;
  pair.lock.ts = token_from_hex("0123456789abcdef01234567");
  pair.lock.fence = 1;
  pair.lock.takeover_after = std::chrono::minutes{16};
  return pair;
}

class Crowd {
 public:
  Crowd(std::string label, const ConnectionString& connection)
      : label_(std::move(label)),
        store_(open_store(connection)),
        documents_(connection.kind() == StoreKind::sqlite ? sqlite_documents(connection)
                                                          : mongodb_documents(connection)),
        pinger_({.store = store_}, {}, PingerDrive::caller) {
    pinger_.ping_round();  // Also makes the indexes, and looks for old pings for the next hour.
    for (std::uint8_t i = 1; i <= 2; ++i) stand(Token{{i}});  // The first gets the lock.
  }

  void grow_to(int count) {
    const PingRecord like = store_->ping(pinger_.process());
    for (; count_ < count; ++count_) documents_->add(numbered(count_, like));
    documents_->commit();
  }

  void print_row() {
    Samples pings;
    for (int i = 0; i < kPingRounds; ++i)
      pings.add(time_of([&] { static_cast<void>(pinger_.ping_round()); }));

    std::int64_t removed = 0;
    const auto before = documents_->commands();
    const Nanoseconds removal = time_of([&] { removed = store_->forget_pings(kForgetAfter); });
    const auto after = documents_->commands();
    const std::string commands = after.empty() ? "1 statement" : difference(before, after);
    Samples looks;
    Samples lists;
    for (int i = 0; i < kLooks; ++i) {
      looks.add(time_of([&] { static_cast<void>(store_->line()->list_waits({})); }));
      lists.add(time_of([&] { static_cast<void>(store_->list()); }));
    }
    Samples idle;
    for (int i = 0; i < kCleanups; ++i)
      idle.add(time_of([&] { static_cast<void>(store_->forget_pings(kForgetAfter)); }));

    std::printf("| %s | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %lld | %s | %.1f |\n",
                label_.c_str(), count_, pings.percentile(50), pings.percentile(90),
                looks.percentile(50) / 1000, lists.percentile(50) / 1000,
                microseconds(removal) / 1000, static_cast<long long>(removed), commands.c_str(),
                idle.percentile(50) / 1000);
    std::fflush(stdout);
  }

 private:
  void stand(const Token& ticket) {
    const StoreNow now = store_->list().now;
    const Claim claim{.process = "waiting.host:1700000000:1234567890",
                      .who = "waiting.host:1700000000:1234567890:thread1:1234567890",
                      .why = "bench",
                      .ts = ticket,
                      .takeover_after = std::chrono::minutes{16},
                      .cutoff = {now.time + std::chrono::hours{1}, now.clock}};
    static_cast<void>(store_->line()->stand("bench.awaited", claim));
  }

  std::string label_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Documents> documents_;
  DistributedLockPinger pinger_;
  int count_ = 0;
};

}  // namespace
}  // namespace distlock::bench

int main(int argc, char** argv) try {
  if (argc < 4) throw std::runtime_error("usage: many_documents LABEL CONNECTION COUNT...");
  distlock::set_log_level(distlock::LogLevel::warning);
  distlock::bench::Crowd crowd(argv[1], distlock::ConnectionString(argv[2]));
  for (int i = 3; i < argc; ++i) {
    crowd.grow_to(std::atoi(argv[i]));
    crowd.print_row();
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "many_documents: %s\n", error.what());
  return 1;
}
