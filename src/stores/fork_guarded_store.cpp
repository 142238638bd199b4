#include "stores/fork_guarded_store.h"

#include "fork_guard.h"

namespace distlock {
namespace {

class ForkGuardedStore : public Store {
 public:
  ForkGuardedStore(std::shared_ptr<Store> store, std::string description)
      : store_(std::move(store)), description_(std::move(description)) {}
  ~ForkGuardedStore() override {
    if (guard_.in_child()) never_let_go(std::move(store_));
  }
  ForkGuardedStore(const ForkGuardedStore&) = delete;
  ForkGuardedStore& operator=(const ForkGuardedStore&) = delete;

  std::chrono::milliseconds call_limit() const override { return store_->call_limit(); }
  std::string description() const override { return description_; }
  Inspection inspect(std::string_view name, Freshness freshness) override {
    return here().inspect(name, freshness);
  }
  std::optional<Carried> carried(std::string_view name) override { return here().carried(name); }
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    return here().claim(name, basis, claim);
  }
  ReleaseResult release(std::string_view name, const Token& ts) override {
    return here().release(name, ts);
  }
  Line* line() override { return here().line(); }
  int share_witness(std::string_view process) override { return here().share_witness(process); }
  Members* members() override { return here().members(); }
  PingRecord ping(std::string_view process, const PingHealth& health) override {
    return here().ping(process, health);
  }
  void remove_ping(std::string_view process) override { here().remove_ping(process); }
  std::int64_t forget_pings(std::chrono::milliseconds age) override {
    return here().forget_pings(age);
  }
  std::vector<StoredHold> holds(std::string_view process) override { return here().holds(process); }
  Listing list() override { return here().list(); }

 private:
  Store& here() const {
    guard_.check("the store");
    return *store_;
  }

  ForkGuard guard_;
  std::shared_ptr<Store> store_;
  std::string description_;
};

}  // namespace

std::shared_ptr<Store> guarded_against_fork(std::shared_ptr<Store> store, std::string description) {
  return std::make_shared<ForkGuardedStore>(std::move(store), std::move(description));
}

}  // namespace distlock
