// A coordinator: of many processes one works, in rounds, and hands over when it ends, is cut off or
// stood still for too long. coordinator FILE ROUNDS
//
// To build it in the folder of the examples: g++ -std=c++20 -Iguarded_writes coordinator/main.cpp
// guarded_writes/sqlite_guard.cpp -o coordinate $(pkg-config --cflags --libs distlock sqlite3)
//
// Three nets, one below the other: on_lost() tells at once, stop_token() ends the work, and each
// write asks in its own transaction whether the hold is still the lock's.
#include <distlock/distributed_lock.h>
#include <distlock/log.h>

#include <iostream>
#include <string>

#include "sqlite_guard.h"

using namespace std::chrono_literals;

namespace {

/// One round of work: reads, computes, writes. False: a later hold was here.
bool do_round(sqlite3* db, const distlock::LockRecord& hold) {
  const auto before = guarded::read_value(db, "rounds");
  return guarded::write_value(db, hold, "rounds", before + 1) == guarded::Outcome::written;
}

int coordinate(const std::string& file, int rounds) {
  distlock::DistributedLock lock(distlock::ConnectionString("sqlite:" + file), "coordinator",
                                 {.takeover_after = 5s, .why = "coordinating"});
  lock.on_lost([](distlock::LossReason reason) {
    std::cerr << "lost the lock: " << to_text(reason) << std::endl;
  });

  const distlock::dist_lock held(lock, 1min);
  if (!held) {
    const distlock::LockRecord other = held.other();
    std::cerr << (other.taken() ? "still held by " + other.process : "did not get it in time")
              << '\n';
    return 1;
  }
  std::cout << "coordinating, fence " << held.fence() << std::endl;

  const auto db = guarded::open_resources(file);
  const auto hold = lock.record();
  const auto stop = lock.stop_token();
  for (int round = 0; round < rounds; ++round) {
    // Standard input is where this example gets its work from.
    std::string line;
    if (!std::getline(std::cin, line)) break;
    if (!do_round(db.get(), hold)) {
      std::cerr << "refused: a later hold was here\n";
      return 2;
    }
    if (stop.stop_requested()) return 3;
    std::cout << "round " << round + 1 << ", " << lock.remaining() / 1ms << " ms left" << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  distlock::set_log_level(distlock::LogLevel::warning);
  if (argc != 3) {
    std::cerr << "usage: coordinator FILE ROUNDS\n";
    return 64;
  }
  return coordinate(argv[1], std::stoi(argv[2]));
} catch (const std::exception& error) {
  std::cerr << "coordinator: " << error.what() << '\n';
  return 70;
}
