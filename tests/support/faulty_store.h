#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "distlock/error.h"
#include "distlock/line.h"
#include "distlock/store.h"

namespace distlock::testing {

enum class Fault {
  rejected,      ///< Not applied, and said so.
  lost_request,  ///< Not applied, nobody knows.
  lost_reply,    ///< Applied, nobody knows.
  delayed,       ///< Nobody knows; applied when deliver() is called.
  doubled,       ///< Applied, and again when deliver() is called.
};

/// A store that really works, counts its calls, and fails where it is told to.
class FaultyStore : public Store, private distlock::Line {
 public:
  explicit FaultyStore(std::shared_ptr<Store> inner) : inner_(std::move(inner)) {}

  /// The next `times` calls of that name meet the fault.
  void fail(const std::string& call, Fault fault, int times = 1) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < times; ++i) faults_[call].push_back(fault);
  }
  /// Runs in the middle of the next call of that name, before it takes effect.
  void before(const std::string& call, std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    actions_[call] = std::move(action);
  }
  /// Runs between the effect of the next call of that name and its reply.
  void after(const std::string& call, std::function<void()> action) {
    const std::lock_guard lock(mutex_);
    replies_[call] = std::move(action);
  }
  /// Runs in the middle of every call, before it takes effect.
  void during_each_call(std::function<void(const std::string& call)> action) {
    const std::lock_guard lock(mutex_);
    during_each_ = std::move(action);
  }
  /// Applies what was delayed.
  void deliver() {
    for (const auto& request : std::exchange(delayed_, {})) request();
  }

  int calls(const std::string& call) const {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(call);
    return found == calls_.end() ? 0 : found->second;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    int sum = 0;
    for (const auto& [name, count] : calls_) sum += count;
    return sum;
  }
  void forget_calls() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
  }

  std::chrono::milliseconds call_limit() const override { return inner_->call_limit(); }
  std::string description() const override { return inner_->description(); }
  Inspection inspect(std::string_view name, Freshness freshness) override {
    return call("inspect", [this, name = std::string(name), freshness] {
      Inspection seen = inner_->inspect(name, freshness);
      seen.fresh = seen.fresh && (always_fresh || freshness == Freshness::fresh);
      if (!seen.lock && absent_tells_no_time) seen.now.reset();
      if (seen.ping) seen.ping->ended = holders_ended && !something_acts_for_them;
      return seen;
    });
  }
  std::optional<Carried> carried(std::string_view name) override {
    return call("carried", [this, name = std::string(name)] { return inner_->carried(name); });
  }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    return call("claim", [this, name = std::string(name), basis, claim] {
      return inner_->claim(name, basis, claim);
    });
  }
  ReleaseResult release(std::string_view name, const Token& ts) override {
    return call("release",
                [this, name = std::string(name), ts] { return inner_->release(name, ts); });
  }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    return call("ping", [this, process = std::string(process), health] {
      return inner_->ping(process, health);
    });
  }
  void remove_ping(std::string_view process) override {
    call("remove_ping", [this, process = std::string(process)] {
      inner_->remove_ping(process);
      return 0;
    });
  }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    return call("forget_pings", [this, age] { return inner_->forget_pings(age); });
  }
  std::vector<StoredHold> holds(std::string_view process) override {
    return call("holds", [this, process = std::string(process)] { return inner_->holds(process); });
  }
  Listing list() override {
    return call("list", [this] { return shown(inner_->list()); });
  }

  distlock::Line* line() override { return has_line ? this : nullptr; }

  /// As a replica set: only a read that was asked to be fresh is.
  bool always_fresh = true;
  /// As MongoDB: a look at an absent document does not say what time it is.
  bool absent_tells_no_time = false;
  /// Runs when a call has taken effect, and before the caller learns that nobody answers.
  std::function<void()> after_lost_reply;
  std::atomic<int> quick_releases = 0;
  /// Without one, waits poll.
  bool has_line = false;
  /// As a SQLite file whose holders the kernel has seen end (R23).
  bool holders_ended = false;
  std::string ended_in_lists;  ///< A process whose ping a listing shows as ended.
  bool something_acts_for_them = false;
  bool rings_for_ends = false;

 private:
  Standing stand(std::string_view name, const Claim& claim) override {
    return call("stand", [this, name = std::string(name), claim] {
      Standing standing = inner_->line()->stand(name, claim);
      standing.holder_ended = standing.in_line && holders_ended;
      if (standing.in_line && rings_for_ends) {
        standing.attends = inner_->inspect(name, Freshness::fresh).lock->ts;
      }
      return standing;
    });
  }
  void leave(std::string_view name, const Token& ticket) override {
    call("leave", [this, name = std::string(name), ticket] {
      inner_->line()->leave(name, ticket);
      return 0;
    });
  }
  Freed release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) override {
    if (rule == ReleaseRule::quick) ++quick_releases;
    return call("release", [this, name = std::string(name), ts, rule] {
      return inner_->line()->release_and_tell(name, ts, rule);
    });
  }
  Listing list_waits(const std::vector<std::string>& names) override {
    return call("list_waits", [this, names] { return shown(inner_->line()->list_waits(names)); });
  }
  void ring(std::string_view name, const std::vector<std::string>& processes) override {
    call("ring", [this, name = std::string(name), processes] {
      inner_->line()->ring(name, processes);
      return 0;
    });
  }
  std::shared_ptr<void> listen(std::string_view process, Rung rung) override {
    return inner_->line()->listen(process, std::move(rung));
  }

  Listing shown(Listing all) const {
    for (auto& ping : all.pings) {
      if (ping.record && ping.id == ended_in_lists) ping.record->ended = true;
    }
    return all;
  }

  template <class Action>
  auto call(const std::string& name, Action action) -> decltype(action()) {
    const auto [interposed, during, after] = begin(name);
    if (interposed) interposed();
    if (during) during(name);
    const auto fault = next_fault(name);
    if (fault == Fault::doubled || fault == Fault::delayed) {
      delayed_.push_back([action] { (void)action(); });
    }
    if (!fault || fault == Fault::doubled) {
      auto answer = action();
      if (after) after();
      return answer;
    }
    if (*fault == Fault::rejected) throw Error(Errc::not_applied, name + " rejected by the test");
    if (*fault == Fault::lost_reply) {
      (void)action();
      if (after_lost_reply) after_lost_reply();
    }
    throw Error(Errc::outcome_unknown, name + " lost by the test");
  }

  struct Meanwhile {
    std::function<void()> once;
    std::function<void(const std::string&)> always;
    std::function<void()> after;
  };
  Meanwhile begin(const std::string& name) {
    const std::lock_guard lock(mutex_);
    ++calls_[name];
    return {std::exchange(actions_[name], {}), during_each_, std::exchange(replies_[name], {})};
  }

  std::optional<Fault> next_fault(const std::string& name) {
    const std::lock_guard lock(mutex_);
    auto& queue = faults_[name];
    if (queue.empty()) return std::nullopt;
    const Fault fault = queue.front();
    queue.pop_front();
    return fault;
  }

  std::shared_ptr<Store> inner_;
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<Fault>> faults_;
  std::map<std::string, std::function<void()>> actions_;
  std::map<std::string, std::function<void()>> replies_;
  std::function<void(const std::string&)> during_each_;
  std::map<std::string, int> calls_;
  std::vector<std::function<void()>> delayed_;
};

}  // namespace distlock::testing
