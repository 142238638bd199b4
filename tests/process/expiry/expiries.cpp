#include "process/expiry/expiries.h"

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "distlock/distributed_lock.h"
#include "distlock/stores.h"
#include "support/faulty_store.h"

namespace distlock::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr PingerOptions kPingerOptions{.ping_every = 100ms};
constexpr int kHoldersAtOnce = 4;
constexpr auto kPatience = 180s;

nanoseconds now() { return host_clock()->steady_now().time_since_epoch(); }

/// Refuses pings from some moment on, and notes when each claim was sent.
class WatchedStore : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;

  void refuse_pings() { refusing_ = true; }

  PingRecord ping(std::string_view process, const PingHealth& health) override {
    if (refusing_) throw Error(Errc::not_applied, "no more pings, says the test");
    return FaultyStore::ping(process, health);
  }

  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    {
      // Beforehand, for one whose answer is lost may have been granted all the same.
      const std::lock_guard lock(mutex_);
      sent_.insert_or_assign(claim.ts, now());
    }
    return FaultyStore::claim(name, basis, claim);
  }

  nanoseconds claim_sent(const Token& ts) const {
    const std::lock_guard lock(mutex_);
    return sent_.at(ts);
  }

 private:
  std::atomic<bool> refusing_ = false;
  mutable std::mutex mutex_;
  std::map<Token, nanoseconds> sent_;
};

/// Processes on one store of their own, all in this one.
struct Side {
  Side(const std::shared_ptr<Store>& opened, const Lease& lease, int processes)
      : store(std::make_shared<WatchedStore>(opened)), shortest(lease.takeover_after) {
    for (int i = 0; i < processes; ++i) {
      pingers.push_back(
          std::make_shared<DistributedLockPinger>(Environment{.store = store}, kPingerOptions));
    }
  }

  std::unique_ptr<DistributedLock> lock(int index) const {
    // So that they end one after the other, and not in the same millisecond.
    const auto takeover_after = shortest + std::chrono::milliseconds{index * 37 % 1000};
    return std::make_unique<DistributedLock>(
        pingers[index % pingers.size()], "expiry." + std::to_string(index),
        LockOptions{.takeover_after = takeover_after, .poll_min = 1ms});
  }

  std::shared_ptr<WatchedStore> store;
  std::chrono::milliseconds shortest;
  std::vector<std::shared_ptr<DistributedLockPinger>> pingers;
};

/// One lock: its holder, and the rival that gets it.
class Duel {
 public:
  Duel(const Side& holders, const Side& rivals, int index)
      : holder_(holders.lock(index)), rival_(rivals.lock(index)) {
    holder_->on_lost([this](LossReason) { announced_ = now().count(); });
    if (!holder_->try_lock_for(kPatience)) throw std::runtime_error("a holder does not get it");
  }

  /// The last deadline is read after the pings have ended.
  void wait_for_rival() {
    deadline_ = holder_->valid_until().time_since_epoch();
    won_ = rival_->try_lock_for(kPatience);
  }

  Expiry result(const WatchedStore& rivals) {
    if (!won_) throw std::runtime_error("a rival does not get it");
    const auto limit = now() + kPatience;
    while (announced_ == 0 && now() < limit) boost::this_thread::yield();
    if (announced_ == 0) throw std::runtime_error("a loss is not announced");
    return {deadline_, nanoseconds{announced_}, rivals.claim_sent(*rival_->record().ts)};
  }

 private:
  std::atomic<std::int64_t> announced_ = 0;
  nanoseconds deadline_{0};
  std::atomic<bool> won_ = false;
  // Ends before the locks do what it is called by.
  std::unique_ptr<DistributedLock> holder_;
  std::unique_ptr<DistributedLock> rival_;
};

void observe_some(const std::shared_ptr<Store>& holders_store,
                  const std::shared_ptr<Store>& rivals_store, const Lease& lease, int count,
                  std::vector<Expiry>& expiries) {
  const Side holders(holders_store, lease, kHoldersAtOnce);
  const Side rivals(rivals_store, lease, 1);
  std::vector<std::unique_ptr<Duel>> duels;
  for (int i = 0; i < count; ++i) duels.push_back(std::make_unique<Duel>(holders, rivals, i));
  holders.store->refuse_pings();
  boost::thread_group waiting;
  for (const auto& duel : duels) waiting.create_thread([&duel] { duel->wait_for_rival(); });
  waiting.join_all();
  for (const auto& duel : duels) expiries.push_back(duel->result(*rivals.store));
}

double milliseconds(nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

std::vector<Expiry> observe_expiries(const ConnectionString& connection, const Lease& lease,
                                     int count, int at_once) {
  const StoreOptions options{.call_limit = lease.call_limit};
  const auto holders = open_store(connection, options);
  const auto rivals =
      connection.kind() == StoreKind::memory ? holders : open_store(connection, options);
  std::vector<Expiry> expiries;
  while (static_cast<int>(expiries.size()) < count) {
    const int left = count - static_cast<int>(expiries.size());
    observe_some(holders, rivals, lease, std::min(at_once, left), expiries);
  }
  return expiries;
}

int inversions(const std::vector<Expiry>& expiries) {
  return static_cast<int>(std::count_if(expiries.begin(), expiries.end(),
                                        [](const Expiry& e) { return e.inverted(); }));
}

std::string to_row(const std::string& label, std::vector<Expiry> expiries) {
  std::vector<double> ahead;
  std::vector<double> late;
  for (const Expiry& expiry : expiries) {
    ahead.push_back(milliseconds(expiry.ahead()));
    late.push_back(milliseconds(expiry.announced - expiry.deadline));
  }
  std::sort(ahead.begin(), ahead.end());
  std::sort(late.begin(), late.end());
  const auto middle = expiries.size() / 2;
  char text[200];
  std::snprintf(text, sizeof text, "| %s | %zu | %d | %.1f | %.1f | %.1f | %.2f | %.2f |",
                label.c_str(), expiries.size(), inversions(expiries), ahead.front(), ahead[middle],
                ahead.back(), late[middle], late.back());
  return text;
}

}  // namespace distlock::testing
