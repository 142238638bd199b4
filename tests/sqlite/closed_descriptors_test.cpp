// A program that closes all its descriptors, those of the library included (R23).
#include <fcntl.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <optional>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "sqlite/witness_scene.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_connection.h"
#include "stores/sqlite/sqlite_deaths.h"
#include "support/asleep.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

std::chrono::nanoseconds used_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

}  // namespace

TEST_CASE("a program that closes all its descriptors has an idle look at witnesses, and an end",
          "[sqlite][R23]") {
  const Room room;
  SqliteWitness holder = room.witness();
  const std::string stated = holder.statement_of("holder").value_or("");
  const Told told;
  const Child program([&] {
    const SqliteWitness witness = room.witness();
    SqliteDeaths deaths(witness);
    auto listening = deaths.listen([&](std::string_view) {});
    deaths.attend(Token{}, "jobs", stated);
    constexpr int kTold = 3;
    dup2(told.writing_end(), kTold);
    close_range(kTold + 1, ~0U, 0);
    const auto clock = host_clock();
    clock->wait_until(clock->steady_now() + 200ms, {});
    const auto before = used_time();
    clock->wait_until(clock->steady_now() + 1s, {});
    char what = used_time() - before < 100ms ? 'i' : 'b';
    listening.reset();
    if (write(kTold, &what, 1) != 1) _exit(3);
  });
  CHECK(told.next() == 'i');
}

TEST_CASE("a store whose program has closed all descriptors writes and confirms nothing",
          "[sqlite][R1][R9][R11]") {
  const TemporaryFolder folder;
  const std::string options = GENERATE("", "?synchronous=off");
  const bool calls = GENERATE(true, false);  // Else the store is closed at once.
  const Told told;
  const Child program([&] {
    auto idle = open_with(folder, options);
    auto store = open_with(folder, options);
    const auto opens = [&] {
      return !error_of([&] { open_with(folder, options)->ping("holder"); });
    };
    held(*store, "jobs");
    store->ping("holder");
    constexpr int kTold = 3;
    dup2(told.writing_end(), kTold);
    close_range(kTold + 1, ~0U, 0);
    std::vector<int> own;
    for (int i = 0; i < 64; ++i)
      own.push_back(open((folder.path() / std::to_string(i)).c_str(), O_RDWR | O_CREAT, 0600));
    const auto error = calls ? error_of([&] { store->ping("holder"); }) : std::nullopt;
    bool right = calls == (error && error->errc() == Errc::store_replaced);
    idle.reset();
    right = right && !opens();  // SQLite would use the numbers of the one that is left.
    store.reset();
    right = right && opens();
    const bool untouched = std::all_of(own.begin(), own.end(), [](int number) {
      return lseek(number, 0, SEEK_END) == 0 && close(number) == 0;
    });
    const char what = !right ? 'c' : untouched ? 'u' : 't';
    if (write(kTold, &what, 1) != 1) _exit(3);
  });
  CHECK(told.next() == 'u');
  CHECK(open_with(folder, options)->inspect("jobs", Freshness::fresh).lock->taken());
}

TEST_CASE("a call that waits for its turn while the program closes all descriptors is refused",
          "[sqlite][R16][R1]") {
  using Access = SqliteConnection::Access;
  const TemporaryFolder folder;
  const ConnectionString path("sqlite:" + (folder.path() / "locks.db").string());
  const Access access = GENERATE(Access::read, Access::write, Access::quick_write, Access::ping);
  const Told told;
  const Child program([&] {
    SqliteConnection connection(path, {});
    std::optional<SqliteCall> turn(connection.begin_call(Access::read));
    std::atomic<pid_t> id = 0;
    std::optional<Error> error;
    boost::thread waiting([&] {
      const auto call = [&] { (void)connection.begin_call(access, since_boot() + 1h); };
      id = gettid();
      error = error_of(call);
    });
    await_sleep(id);
    constexpr int kTold = 3;
    dup2(told.writing_end(), kTold);
    close_range(kTold + 1, ~0U, 0);
    turn.reset();
    waiting.join();
    const char what = error && error->errc() == Errc::store_replaced ? 'r' : 'u';
    if (write(kTold, &what, 1) != 1) _exit(3);
  });
  CHECK(told.next() == 'r');
}

TEST_CASE("a program that closes all its descriptors has those that it makes then for itself",
          "[sqlite][R23]") {
  const Room room;
  SqliteWitness holder = room.witness();
  const std::string stated = holder.statement_of("holder").value_or("");
  const Told told;
  const Child program([&] {
    const SqliteWitness witness = room.witness();
    SqliteDeaths deaths(witness);
    auto listening = deaths.listen([&](std::string_view) {});
    deaths.attend(Token{1}, "jobs", stated);
    constexpr int kTold = 3;
    dup2(told.writing_end(), kTold);
    close_range(kTold + 1, ~0U, 0);
    std::vector<int> own;
    for (int i = 0; i < 32; ++i) own.push_back(eventfd(1, 0));
    deaths.attend(Token{2}, "mail", stated);
    listening.reset();
    const bool untouched = std::all_of(own.begin(), own.end(), [](int number) {
      eventfd_t count = 0;
      return fcntl(number, F_SETFL, O_NONBLOCK) == 0 && eventfd_read(number, &count) == 0 &&
             count == 1;
    });
    const char what = untouched ? 'u' : 't';
    if (write(kTold, &what, 1) != 1) _exit(3);
  });
  CHECK(told.next() == 'u');
}
