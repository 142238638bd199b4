#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "distlock/pinger.h"
#include "distlock/stores.h"
#include "fork_guard.h"

// The pingers that the locks of this process share.
namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;
using std::chrono::milliseconds;

// A pinger keeps one interval and a store one limit, so that what differs in them is another
// process to the store.
using Key = std::tuple<std::string, milliseconds, milliseconds, milliseconds, milliseconds,
                       WitnessRule, OpeningRule>;

struct SharedPingers {
  boost::mutex mutex;
  std::map<Key, std::weak_ptr<DistributedLockPinger>> pingers;
};

// The parent's pingers mean nothing in a forked child (R16).
PerProcess<SharedPingers> shared_in_this_process;

}  // namespace

std::shared_ptr<DistributedLockPinger> DistributedLockPinger::got(
    const ConnectionString& connection, const PingerOptions& options,
    const StoreOptions& store_options) {
  SharedPingers& shared = shared_in_this_process.get();
  const Key key{connection.text(),    options.ping_every,       options.forget_after,
                options.forget_every, store_options.call_limit, store_options.witness,
                store_options.opening};
  const auto running = [&]() -> std::shared_ptr<DistributedLockPinger> {
    const auto found = shared.pingers.find(key);
    return found == shared.pingers.end() ? nullptr : found->second.lock();
  };
  {
    const Guard lock(shared.mutex);
    if (auto pinger = running()) return pinger;
  }
  // Opened without the mutex: one store that does not answer must not hold up the others.
  auto made = std::make_shared<DistributedLockPinger>(
      Environment{.store = open_store(connection, store_options)}, options);
  const Guard lock(shared.mutex);
  if (auto first = running()) return first;
  std::erase_if(shared.pingers, [](const auto& entry) { return entry.second.expired(); });
  shared.pingers[key] = made;
  return made;
}

}  // namespace distlock
