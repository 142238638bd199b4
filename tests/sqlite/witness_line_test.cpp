// The witnesses of holders, and those who wait in line.
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/distributed_lock.h"
#include "processes.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/witness_scene.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_deaths.h"
#include "stores/sqlite/sqlite_witness.h"
#include "stores/sqlite/sqlite_witness_file.h"
#include "support/captured_log.h"
#include "support/sleeper.h"
#include "support/sqlite_file.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Two holders, of which one has ended, and a process that may attend them.
struct TwoHolders {
  TwoHolders() { holders.give_up("dead"); }

  void check_that_it_learns_of_both() {
    // Listeners look at tickets in their order.
    CHECK(deaths.attend(Token{1}, "d", ended));
    CHECK_FALSE(deaths.attend(Token{2}, "l", living));
  }

  Room room;
  SqliteWitness holders = room.witness();
  std::string ended = holders.statement_of("dead").value_or("");
  std::string living = holders.statement_of("living").value_or("");
  SqliteWitness own = room.witness();
  SqliteDeaths deaths{own};
};

/// Looks at the witnesses' file, as the kernel tells of them.
class Looks {
 public:
  explicit Looks(const std::filesystem::path& file) {
    REQUIRE(inotify_add_watch(opened_, file.c_str(), IN_OPEN) >= 0);
  }
  ~Looks() { close(opened_); }
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  void await_next() const {
    std::array<char, 4096> events{};
    REQUIRE(read(opened_, events.data(), events.size()) > 0);
  }
  /// Before one of the next ten. A machine may stall, but not at each of them.
  bool has_a_short_pause() const {
    for (int i = 0; i < 10; ++i) {
      const auto before = host_clock()->steady_now();
      await_next();
      if (host_clock()->steady_now() - before < std::chrono::seconds{1}) return true;
    }
    return false;
  }

 private:
  const int opened_ = inotify_init1(IN_CLOEXEC);
};

}  // namespace

TEST_CASE("an end that a waiter knows rings for it no more", "[sqlite][R23][R19]") {
  TwoHolders two;
  const Told told;
  const auto listening = two.deaths.listen([&](std::string_view name) { told.tell(name.back()); });
  two.check_that_it_learns_of_both();
  two.holders.give_up("living");
  CHECK(told.next() == 'l');
}

TEST_CASE("a waiter whose process listens for no ends learns that its holder has ended",
          "[sqlite][R23]") {
  TwoHolders().check_that_it_learns_of_both();
}

TEST_CASE("a waiter without a watch on the witnesses' file looks more than once a second",
          "[sqlite][R23]") {
  const Room room;
  SqliteWitness holder = room.witness();
  const std::string stated = holder.statement_of("holder").value_or("");
  REQUIRE_FALSE(stated.empty());
  const SqliteWitness own = room.witness();
  SqliteDeaths deaths(own);
  const Looks looks(room.file);
  const auto listening = deaths.listen([](std::string_view) {});
  const auto away = room.folder.path() / "away";
  std::filesystem::rename(room.file, away);
  CHECK_FALSE(deaths.attend(Token{1}, "jobs", stated));
  std::filesystem::rename(away, room.file);
  // The first few follow each other at once.
  for (int i = 0; i < 8; ++i) looks.await_next();
  CHECK(looks.has_a_short_pause());
}

TEST_CASE("a place says which hold it was kept for or behind", "[sqlite][line][R23]") {
  const Scene scene;
  const auto store = open_at(scene.path());
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock lock(pinger, "jobs");
  const auto place_of = [&](const Token& ticket) {
    StoreNow cutoff = store->list().now;
    cutoff.time += 1min;
    const Claim claim{.process = "waits",
                      .who = "waits:1",
                      .why = "y",
                      .ts = ticket,
                      .takeover_after = 15min,
                      .cutoff = cutoff};
    return store->line()->stand("jobs", claim);
  };
  REQUIRE(lock.lock_try("x"));
  CHECK(place_of(Token{{1}}).attends == lock.record().ts);
  const auto last = lock.record().ts;
  REQUIRE(lock.unlock() == UnlockResult::released);
  // As if it were quite new, however late the next line is.
  SqliteFile(scene.path().string()).execute("UPDATE locks SET freed_at = freed_at + 8000");
  const Standing standing = place_of(Token{{2}});
  CHECK_FALSE(standing.hold);
  CHECK(standing.attends == last);
}

TEST_CASE("the next in line is told of the holder when the first in line leaves",
          "[sqlite][line][R23][R19]") {
  const Scene scene;
  const auto store = open_at(scene.path());
  Line& line = *store->line();
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store});
  DistributedLock lock(pinger, "jobs");
  REQUIRE(lock.lock_try("x"));
  const Told told;
  const auto tells = [&](char who) { return [&told, who](std::string_view) { told.tell(who); }; };
  const std::array ears{line.listen("1", tells('1')), line.listen("2", tells('2')),
                        line.listen("3", tells('3'))};
  StoreNow cutoff = store->list().now;
  cutoff.time += 1min;
  for (const char number : {'1', '2', '3'}) {
    const std::string process(1, number);
    const Claim claim{.process = process,
                      .who = process + ":1",
                      .why = "y",
                      .ts = Token{{static_cast<unsigned char>(number)}},
                      .takeover_after = 15min,
                      .cutoff = cutoff};
    REQUIRE(line.stand("jobs", claim).in_line);
  }
  line.leave("jobs", Token{{'1'}});
  CHECK(told.next() == '2');
}

TEST_CASE("a process that begins tells nobody of the end of a witness", "[sqlite][R20][R23]") {
  const TemporaryFolder folder;
  const std::string database = (folder.path() / "locks.db").string();
  const std::string path = database + "-witness";
  std::ofstream(database).put('x');
  SqliteWitnessFile::make(database, path);
  const int told = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  REQUIRE(inotify_add_watch(told, path.c_str(), IN_CLOSE_WRITE) >= 0);
  CHECK(mapping_keeps_locks(path));
  std::array<char, 4096> events{};
  CHECK(read(told, events.data(), events.size()) == -1);
  CHECK(errno == EAGAIN);
  SqliteWitnessFile(path, O_RDWR).close();
  CHECK(read(told, events.data(), events.size()) > 0);
  close(told);
}

TEST_CASE("of a hold by another clock nobody tells which processes are older than it",
          "[sqlite][R1][R4][R23]") {
  const Scene scene;
  const auto holder = scene.holder({.witness = WitnessRule::command});
  // Without variables: it may be of the holder's command.
  const pid_t process = sleeper();
  REQUIRE(process > 0);
  holder->end();
  SqliteFile(scene.path().string()).execute(R"(UPDATE lockpings SET clock = 'another';
                  UPDATE locks SET "when" = "when" + 3600000)");
  const auto seen = open_at(scene.path())->inspect("jobs", Freshness::fresh);
  kill(process, SIGKILL);
  waitpid(process, nullptr, 0);
  REQUIRE(seen.ping);
  CHECK_FALSE(seen.ping->ended);
}
