#include "stores/mongodb/mongo_lists.h"

#include <map>
#include <utility>

#include "stores/document.h"
#include "stores/mongodb/mongo_commands.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/those_in_line.h"

namespace distlock {
namespace {

std::vector<Listed<LockRecord>> locks_of(const MongoCall& call, const Bson& command) {
  std::vector<Listed<LockRecord>> locks;
  call.read_each(command, ordinary(call), [&](const Document& lock) {
    locks.push_back(listed<LockRecord>(lock, lock_from));
  });
  return locks;
}

std::vector<Listed<PingRecord>> pings_of(const MongoCall& call, const Bson& command) {
  std::vector<Listed<PingRecord>> pings;
  call.read_each(command, ordinary(call), [&](const Document& ping) {
    pings.push_back(listed<PingRecord>(ping, ping_from));
  });
  return pings;
}

StoreNow now_of(const MongoCall& call) {
  const Bson hello = call.read(hello_command(), ReadConcern::local);
  return {time_at(hello.get(), "localTime"), call.clock()};
}

// By name. A lock that is in both is as it was read last.
std::vector<Listed<LockRecord>> merged(std::vector<Listed<LockRecord>> earlier,
                                       std::vector<Listed<LockRecord>> later) {
  std::map<std::pair<std::string, bool>, Listed<LockRecord>> all;
  for (auto* locks : {&earlier, &later}) {
    for (auto& lock : *locks) {
      std::pair id{lock.id, lock.named};
      all.insert_or_assign(std::move(id), std::move(lock));
    }
  }
  std::vector<Listed<LockRecord>> locks;
  locks.reserve(all.size());
  for (auto& [id, lock] : all) locks.push_back(std::move(lock));
  return locks;
}

}  // namespace

Listing list_all(const MongoCall& call) {
  Listing listing;
  listing.locks = locks_of(call, everything_command(kLocks));
  listing.pings = pings_of(call, everything_command(kLockPings));
  listing.now = now_of(call);
  return listing;
}

Listing list_waits(const MongoCall& call, const std::vector<std::string>& names) {
  Listing listing;
  listing.locks = locks_of(call, lines_command());
  const ThoseInLine those = those_in_line(listing.locks);
  if (!those.processes.empty() || !names.empty())
    listing.locks =
        merged(std::move(listing.locks), locks_of(call, taken_since_command(those, names)));
  if (!those.processes.empty()) listing.pings = pings_of(call, pings_command(those.processes));
  listing.now = now_of(call);
  return listing;
}

}  // namespace distlock
