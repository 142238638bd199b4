#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stores/mirrored/identity.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/held_on_two.h"

// The member that is asked first, and refuses (M2).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A member that answers, and does no claim of a lock: by an error, or as if another had come
/// first.
class ClaimsNothing : public FaultyStore {
 public:
  ClaimsNothing(std::shared_ptr<Store> inner, std::optional<Errc> error)
      : FaultyStore(std::move(inner)), error_(error) {}

  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override {
    if (name == mirrored::kIdentityName) return FaultyStore::claim(name, basis, claim);
    if (error_) throw Error(*error_, "no claim of a lock");
    return std::nullopt;
  }

 private:
  std::optional<Errc> error_;
};

/// The members that a process claims, from now on.
class ClaimedMembers {
 public:
  explicit ClaimedMembers(const MirrorProcess& process) {
    for (std::size_t i = 0; i < process.members.size(); ++i) {
      process.members[i]->during_each_call([this, i](const std::string& call) {
        if (call == "claim") members_.push_back(i);
      });
    }
  }
  std::vector<std::size_t> since_last() { return std::exchange(members_, {}); }

 private:
  std::vector<std::size_t> members_;
};

}  // namespace

TEST_CASE("a first member that refuses each claim stops no lock", "[mirrored][M2]") {
  const auto error = GENERATE(values<std::optional<Errc>>(
      {std::nullopt, Errc::not_applied, Errc::permission_denied, Errc::outcome_unknown}));
  MirrorFleet fleet;
  fleet.stores[0].store = std::make_shared<ClaimsNothing>(fleet.stores[0].store, error);
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  const auto lock = ann.lock("jobs");
  const auto rivals = bob.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == Names{"", "ann", "ann"});
  CHECK_FALSE(rivals->lock_try("y"));
  REQUIRE(lock->unlock() != UnlockResult::not_ours);
  fleet.clock->advance(2min);
  REQUIRE(rivals->lock_try("y"));
  fleet.clock->advance(17min);
  CHECK(lock->lock_try("x"));
}

TEST_CASE("a member that refused a claim from what it still shows is claimed last",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  fleet.stores[0].store = std::make_shared<ClaimsNothing>(fleet.stores[0].store, std::nullopt);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ClaimedMembers claimed(ann);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  CHECK(claimed.since_last() == std::vector<std::size_t>{0, 1, 2, 0});
  REQUIRE(lock->unlock() == UnlockResult::released);
  REQUIRE(lock->lock_try("x"));
  CHECK(claimed.since_last() == std::vector<std::size_t>{1, 2, 0});
  for (const auto& member : ann.members) member->during_each_call({});
}

TEST_CASE("a member that refused a claim for a rival's sake is claimed first again",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  const auto bob = fleet.process("bob");
  ann.pinger->ping_round();
  const auto lock = ann.lock("jobs");
  const auto rivals = bob.lock("jobs");
  ann.members[0]->before("claim", [&] { REQUIRE(rivals->lock_try("y")); });
  REQUIRE_FALSE(lock->lock_try("x"));
  REQUIRE(rivals->unlock() == UnlockResult::released);
  ClaimedMembers claimed(ann);
  REQUIRE(lock->lock_try("x"));
  CHECK(claimed.since_last() == std::vector<std::size_t>{0, 1, 2});
  for (const auto& member : ann.members) member->during_each_call({});
}

TEST_CASE("own claims that were undone are no rival's, so that a lock is not busy",
          "[mirrored][M2][R2]") {
  MirrorFleet fleet;
  fleet.stores[0].store = std::make_shared<ClaimsNothing>(fleet.stores[0].store, std::nullopt);
  const auto ann = fleet.process("ann");
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  REQUIRE(lock->unlock() == UnlockResult::released);
  ann.set_away(2, true);
  CHECK(thrown_by([&] { return lock->lock_try("y"); }) == Errc::not_applied);
  ann.set_away(2, false);
  CHECK(lock->lock_try("z"));
}
