// remote NAME STORE LEASE-MS PING-MS CALL-MS
//
// One process that does with locks what its standard input says, a command a line:
//
//   ID try LOCK                     one attempt
//   ID wait LOCK LIMIT-MS           until it has the lock, or so long
//   ID turn LOCK LIMIT-MS HOLD-MS   waits, holds, unlocks
//   ID unlock LOCK
//   ID spin HOLD-US LOCK...         locks and unlocks them in turn, for ever
//   ID stats                        pending releases and the like
//
// Each is answered by events with its ID (docs/faults.md). Commands for one lock are done one after
// the other by a thread of that lock's, those for several at once. It ends with its input.

#include <csignal>
#include <iostream>
#include <map>
#include <sstream>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "events.h"
#include "lock_thread.h"

namespace {

using namespace faults;
using namespace distlock;

constexpr std::chrono::milliseconds kPatience{400'000};

// A machine under load may be too slow for a short call limit, and be quick enough later.
std::shared_ptr<distlock::Store> open_patiently(const distlock::ConnectionString& uri,
                                                const distlock::StoreOptions& options) {
  const auto clock = distlock::host_clock();
  const auto limit = clock->steady_now() + kPatience;
  for (;;) {
    try {
      return distlock::open_store(uri, options);
    } catch (const distlock::Error& error) {
      if (error.errc() != distlock::Errc::not_applied || clock->steady_now() > limit) throw;
      clock->wait_until(clock->steady_now() + options.call_limit, {});
    }
  }
}

std::shared_ptr<DistributedLockPinger> open(char** words) {
  const auto store = open_patiently(distlock::ConnectionString{words[2]},
                                    {.call_limit = std::chrono::milliseconds{std::stoi(words[5])}});
  return std::make_shared<DistributedLockPinger>(
      distlock::Environment{.store = store, .process = {}, .random = {}},
      distlock::PingerOptions{.ping_every = std::chrono::milliseconds{std::stoi(words[4])}});
}

void tell_stats(const std::string& id, const DistributedLockPinger& pinger) {
  const distlock::PingerStats stats = pinger.stats();
  tell(boot_now(), "stats",
       {text("id", id), number("pending", static_cast<std::int64_t>(stats.pending_releases)),
        number("holds", static_cast<std::int64_t>(stats.holds)),
        number("pings", stats.health.successes)});
}

void obey(const std::shared_ptr<DistributedLockPinger>& pinger,
          const distlock::LockOptions& options) {
  std::map<std::string, LockThread> lock_threads;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    Command command;
    words >> command.id >> command.verb;
    if (command.verb == "stats") {
      tell_stats(command.id, *pinger);
      continue;
    }
    for (std::string word; words >> word;) command.words.push_back(word);
    const std::string name = command.words.at(command.verb == "spin" ? 1 : 0);
    lock_threads.try_emplace(name, pinger, name, options).first->second.take(std::move(command));
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) {
    std::cerr << "usage: remote NAME STORE LEASE-MS PING-MS CALL-MS\n";
    return 64;
  }
  distlock::set_log_level(distlock::LogLevel::off);
  std::signal(SIGPIPE, SIG_IGN);
  tell_as(words[1]);
  try {
    const auto pinger = open(words);
    tell(boot_now(), "start", {text("id", pinger->process())});
    obey(pinger, {.takeover_after = std::chrono::milliseconds{std::stoi(words[3])},
                  .store_patience = kPatience});
  } catch (const std::exception& error) {
    tell(boot_now(), "failed", {text("what", error.what())});
    return 1;
  }
}
