// torturer NAME STORE SEED FOLDER THREADS
//
// Some threads of one process that fight for the same locks until SIGTERM. On the store in memory
// they are three parties with an identity each, as three processes would be.

#include <iostream>
#include <thread>

#include "contender.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "events.h"
#include "program.h"
#include "unruly_store.h"

namespace {

using namespace faults;
using namespace distlock;

constexpr distlock::StoreOptions kStoreOptions{.call_limit = std::chrono::milliseconds{250}};
constexpr distlock::PingerOptions kPingerOptions{.ping_every = std::chrono::milliseconds{200}};

struct Party {
  std::shared_ptr<distlock::Store> store;
  std::shared_ptr<DistributedLockPinger> pinger;
};

std::stop_source end;

Party party_on(const std::shared_ptr<distlock::Store>& store) {
  return {store,
          std::make_shared<DistributedLockPinger>(
              distlock::Environment{.store = store, .process = {}, .random = {}}, kPingerOptions)};
}

std::shared_ptr<distlock::Store> open_patiently(const ConnectionString& connection) {
  while (true) {
    try {
      return distlock::open_store(connection, kStoreOptions);
    } catch (const distlock::Error& error) {
      if (error.errc() != distlock::Errc::not_applied || end.stop_requested()) throw;
      pass_time(kStoreOptions.call_limit, end.get_token());
    }
  }
}

std::vector<Party> make_parties(const ConnectionString& connection, unsigned seed) {
  if (connection.kind() != distlock::StoreKind::memory)
    return {party_on(open_patiently(connection))};
  constexpr unsigned kParties = 3;
  const auto memory = distlock::make_memory_store(distlock::host_clock(), kStoreOptions);
  std::vector<Party> parties;
  for (unsigned number = 0; number < kParties; ++number)
    parties.push_back(party_on(std::make_shared<UnrulyStore>(memory, seed + number)));
  return parties;
}

// Cuts one party in memory after the other off, for longer than a lease.
void cut_off_in_turn(const std::vector<Party>& parties, const std::stop_token& stop) {
  for (std::size_t round = 0; !stop.stop_requested(); ++round) {
    pass_time(std::chrono::milliseconds{5000}, stop);
    const auto unruly =
        std::dynamic_pointer_cast<UnrulyStore>(parties[round % parties.size()].store);
    if (!unruly || stop.stop_requested()) return;
    tell(boot_now(), "cut off", {number("party", static_cast<int>(round % parties.size()))});
    unruly->cut(true);
    pass_time(std::chrono::milliseconds{3000}, stop);
    unruly->cut(false);
  }
}

// In memory nobody else can see whether the locks can be had in the end.
void have_all(const std::vector<Party>& parties) {
  for (const Party& party : parties) {
    const auto unruly = std::dynamic_pointer_cast<UnrulyStore>(party.store);
    if (!unruly) return;
    unruly->behave();
  }
  for (int i = 0; i < kLocks; ++i) {
    distlock::DistributedLock lock(parties[0].pinger, lock_name(i), contended_options());
    if (!lock.try_lock_for(std::chrono::seconds{100}))
      tell(boot_now(), "stuck", {text("lock", lock.name())});
  }
}

void torture(char** words) {
  const unsigned seed = static_cast<unsigned>(std::stoul(words[3]));
  const std::vector<Party> parties = make_parties(ConnectionString{words[2]}, seed);
  tell(boot_now(), "start", {text("id", parties[0].pinger->process())});
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < std::stoi(words[5]); ++number) {
      const Party& party = parties[static_cast<std::size_t>(number) % parties.size()];
      const std::string name = std::string(words[1]) + "/" + std::to_string(number);
      threads.emplace_back([=, folder = std::string(words[4])] {
        Contender(party.pinger, name, folder, seed * 31 + static_cast<unsigned>(number))
            .run(end.get_token());
      });
    }
    cut_off_in_turn(parties, end.get_token());
  }
  have_all(parties);
  tell(boot_now(), "end");
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) {
    std::cerr << "usage: torturer NAME STORE SEED FOLDER THREADS\n";
    return 64;
  }
  distlock::set_log_level(distlock::LogLevel::off);
  tell_as(words[1]);
  end_on_signal(end);
  try {
    torture(words);
  } catch (const std::exception& error) {
    if (end.stop_requested()) return 0;  // It was asked to end before it had a store.
    tell(boot_now(), "failed", {text("what", error.what())});
    return 1;
  }
}
