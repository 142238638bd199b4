// A program that closes all its descriptors, those of the library included (R23).
#include <fcntl.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "sqlite/witness_scene.h"
#include "stores/sqlite/sqlite_deaths.h"

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
