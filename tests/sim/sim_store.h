#pragma once

#include <functional>
#include <set>
#include <string>

#include "distlock/line.h"
#include "distlock/store.h"
#include "sim/servers.h"

namespace distlock::sim {

/// One process's handle on the servers: the port, each call split into send, take effect, reply.
class SimStore : public Store, private Line {
 public:
  /// Where others may come in between, and this process be paused or killed.
  using Point = std::function<void(const Call& call)>;

  SimStore(Servers& servers, Scheduler& scheduler, Faults& faults, Oracle& oracle, Trace& trace,
           std::string process, std::chrono::milliseconds call_limit, Random random);

  const std::string& process() const { return process_; }
  /// A look at an absent lock says no more what time it is.
  void tell_no_time_of_absent() { absent_tells_time_ = false; }
  void on_point(Point point) { point_ = std::move(point); }
  /// Between the answer to a place that was granted and what its thread does next.
  void on_granted(std::function<void()> granted) { granted_ = std::move(granted); }
  /// Nothing that it sends arrives.
  void cut_off(Time until) { cut_off_until_ = until; }
  /// The process is gone: every call fails at once and reaches nobody.
  void die() { dead_ = true; }
  /// The pinger has said that it calls the store no more (R12).
  void expect_silence() { silent_ = true; }
  /// The same, while locks have calls under way.
  void expect_no_claims() { claimless_ = true; }

  /// Whether this process has ever read that clock of the store.
  bool has_read(const std::string& clock) const { return clocks_read_.contains(clock); }

  /// The last list of holds has all that was written before that. Nothing: there is none.
  std::optional<Time> listed_since() const { return listed_since_; }
  void forget_list() { listed_since_.reset(); }

  /// Any operation on the tables, for programs that do not use the port.
  template <class Operation>
  auto raw(std::string_view verb, std::string_view object, Touches touches, Operation operation);

  std::chrono::milliseconds call_limit() const override { return call_limit_; }
  Inspection inspect(std::string_view name, Freshness freshness) override;
  std::optional<Carried> carried(std::string_view name) override;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override;
  ReleaseResult release(std::string_view name, const Token& ts) override;
  PingRecord ping(std::string_view process, const PingHealth& health) override;
  void remove_ping(std::string_view process) override;
  std::int64_t forget_pings(std::chrono::milliseconds age) override;
  std::vector<StoredHold> holds(std::string_view process) override;
  Listing list() override;
  Line* line() override { return this; }

 private:
  Standing stand(std::string_view name, const Claim& claim) override;
  void leave(std::string_view name, const Token& ticket) override;
  Freed release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) override;
  Listing list_waits(const std::vector<std::string>& names) override;
  void ring(std::string_view name, const std::vector<std::string>& processes) override;
  void ring_for(const std::string& process, const std::string& name);
  std::shared_ptr<void> listen(std::string_view process, Rung rung) override;

  template <class Operation>
  auto call(std::string_view verb, std::string_view object, bool writes, bool fresh,
            Operation operation);
  template <class Operation>
  auto perform(const std::shared_ptr<CallOf<Operation>>& call);
  void begin(Call& call);
  bool gets_lost(const Call& call);
  void send(const std::shared_ptr<Call>& call);
  void await(Call& call);
  void check_allowed(const Call& call);

  Servers& servers_;
  Scheduler& scheduler_;
  Faults& faults_;
  Oracle& oracle_;
  Trace& trace_;
  const std::string process_;
  const std::chrono::milliseconds call_limit_;
  Random random_;
  Point point_;
  std::function<void()> granted_;
  bool absent_tells_time_ = true;
  bool loses_next_claim_ = false;
  std::set<std::string> clocks_read_;
  bool dead_ = false;
  bool silent_ = false;
  bool claimless_ = false;
  Time cut_off_until_{0};
  Time durable_{0};  // Its last ping that a majority of the server has was sent then.
  std::optional<Time> listed_since_;
};

template <class Operation>
auto SimStore::call(std::string_view verb, std::string_view object, bool writes, bool fresh,
                    Operation operation) {
  const auto call = std::make_shared<CallOf<Operation>>(std::move(operation));
  call->verb = verb;
  call->object = object;
  call->writes = writes;
  call->fresh = fresh;
  return perform(call);
}

template <class Operation>
auto SimStore::perform(const std::shared_ptr<CallOf<Operation>>& call) {
  begin(*call);
  send(call);
  await(*call);
  return std::move(*call->answer);
}

template <class Operation>
auto SimStore::raw(std::string_view verb, std::string_view object, Touches touches,
                   Operation operation) {
  const auto call = std::make_shared<CallOf<Operation>>(std::move(operation));
  call->verb = verb;
  call->object = object;
  call->outsider = true;
  call->touches = touches;
  call->writes = touches != Touches::nothing;
  call->fresh = false;
  return perform(call);
}

}  // namespace distlock::sim
