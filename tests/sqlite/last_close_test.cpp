// The files beside the database as the last process closes it, or a newcomer opens it just then.
#include <boost/thread/barrier.hpp>
#include <boost/thread/thread.hpp>
#include <functional>
#include <vector>

#include "sqlite/belfry.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_gate.h"
#include "stores/sqlite/sqlite_page.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view kMark = "distlock bell 1\n";
constexpr std::size_t kFirstForLocks = 512;

/// A database that nobody has open any more, and the page that is about to remove its bell.
class LastClose {
 public:
  LastClose() {
    page_->make();
    fs::remove(log_);
  }

  /// `meanwhile` happens right before the bell loses its name.
  void close(const std::function<void()>& meanwhile) {
    const BeforeRemoval hook(meanwhile);
    page_.reset();
    REQUIRE(newcomer_);
  }
  /// A process opens the database, and listens to the bell that is there.
  void open_anew() {
    std::ofstream(log_).close();
    newcomer_.emplace(bell_);
    newcomer_->until_heard(0, [&] { bell_.ring("jobs", {"waiter"}); });
    newcomer_->until_asleep();
  }
  void await_another_bell() const {
    const auto clock = host_clock();
    const auto limit = clock->steady_now() + 30s;
    while (!fs::exists(belfry_.file)) {
      REQUIRE(clock->steady_now() < limit);
      clock->wait_until(clock->steady_now() + 1ms, {});
    }
  }
  void check_is_heard() {
    newcomer_->until_heard(newcomer_->heard(), [&] { bell_.ring("jobs", {"waiter"}); });
  }
  std::string database() const { return belfry_.database; }

 private:
  Belfry belfry_;
  fs::path log_ = belfry_.database + "-wal";
  SqliteBell bell_{belfry_.database, 1h};
  std::optional<SqlitePage> page_{std::in_place, belfry_.database, "-bell", kMark};
  std::optional<Waiting> newcomer_;
};

}  // namespace

TEST_CASE("a listener that comes as the last process removes its bell makes another at once",
          "[sqlite][bell][R19]") {
  LastClose last;
  last.close([&] { last.open_anew(); });
  last.await_another_bell();
  last.check_is_heard();
}

TEST_CASE("two processes that remove one bell at once leave alone that of a newcomer",
          "[sqlite][bell][R19]") {
  LastClose last;
  std::optional<SqlitePage> other(std::in_place, last.database(), "-bell", kMark);
  last.close([&] {
    other.reset();
    last.open_anew();
  });
  last.await_another_bell();
  last.check_is_heard();
}

TEST_CASE("a listener whose bell was removed looks once, since a ring may have got lost",
          "[sqlite][bell][R19]") {
  const Belfry belfry;
  SqliteBell bell(belfry.database, 1h);
  Waiting waiting(bell);
  SqlitePage removed(belfry.database, "-bell", kMark);
  REQUIRE(removed.open());
  fs::remove(belfry.file);
  for (std::size_t word = SqlitePage::kFirstWord; word < kFirstForLocks; ++word) {
    removed.ring(word, 1'000);
  }
  waiting.until_heard(0, [] {});
  for (int i = 0; i < 20; ++i) {
    bell.ring("another", {"waiter"});
    waiting.until_asleep();
  }
  CHECK(waiting.heard() == 1);
}

TEST_CASE("stores of one file that are closed at once leave nothing beside it", "[sqlite][R12]") {
  constexpr int kStores = 8;
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  for (int round = 0; round < 50; ++round) {
    CAPTURE(round);
    std::vector<std::shared_ptr<Store>> stores;
    while (stores.size() < kStores) stores.push_back(open_at(file));
    SqliteGate(file.string()).make();
    boost::barrier all_there(kStores);
    boost::thread_group threads;
    for (auto& store : stores) {
      threads.create_thread([&] {
        all_there.wait();
        store.reset();
      });
    }
    threads.join_all();
    REQUIRE(entries_of(folder.path()) == 1);
  }
}
