// The claims of a mirrored store, before it asks a member for one and after (M2, M3).
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <utility>

#include "distlock/error.h"
#include "distlock/members.h"
#include "identity_name.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/held_on_two.h"
#include "unit/stores/mirrored/three_members.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

int claims_of(const MirrorProcess& process) {
  int claims = 0;
  for (const auto& member : process.members) claims += member->calls("claim");
  return claims;
}

/// A member of which an ordinary read shows no lock, as that of a server which lags behind.
class LagsBehind : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  Inspection inspect(std::string_view name, Freshness freshness) override {
    Inspection seen = FaultyStore::inspect(name, freshness);
    if (freshness == Freshness::ordinary && name == "jobs") seen.lock.reset();
    return seen;
  }
};

/// Ann's hold of "jobs" that all members have freed, and a claim from it.
struct FreedByAll {
  FreedByAll() {
    ann.pinger->ping_round();
    claim = claim_of(*ann.store, Token{{1}});
    const auto hold = ann.store->claim("jobs", FromAbsent{}, claim);
    REQUIRE(ann.store->release("jobs", claim.ts) == ReleaseResult::freed);
    basis.ts = std::exchange(claim.ts, Token{{2}});
    claim.fence = hold->fence + 1;
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
  FromFree basis;
  Claim claim;
};

}  // namespace

TEST_CASE("no lock of a mirrored store is called as the identities of its members",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  Claim claim = claim_of(*ann.store, Token{{1}});
  const std::string name(kIdentityName);
  const int claims = claims_of(ann);
  CHECK(thrown_by([&] { ann.store->claim(name, FromAbsent{}, claim); }) == Errc::invalid_argument);
  std::vector<MemberBasis> bases;
  for (const OpenedMemoryStore& opened : fleet.stores) {
    const LockRecord identity = *opened.store->inspect(name, Freshness::fresh).lock;
    bases.push_back({*identity.ts, FromHold{*identity.ts, identity.when}});
  }
  claim.fence = 7;
  CHECK(thrown_by([&] { ann.store->members()->claim_from(name, bases, claim); }) ==
        Errc::invalid_argument);
  CHECK(claims_of(ann) == claims);
}

TEST_CASE("a claim whose time is over is refused, and no member is asked for it",
          "[mirrored][M2][R8]") {
  FreedByAll freed;
  const bool over = GENERATE(true, false);
  const ClaimBasis basis = GENERATE(true, false) ? FromFree{freed.basis.ts} : FromFree{};
  freed.claim.cutoff = freed.ann.store->list().now;
  if (over) freed.claim.cutoff.time -= 1ms;
  const int claims = claims_of(freed.ann);
  CHECK(freed.ann.store->claim("jobs", basis, freed.claim).has_value() == !over);
  CHECK(claims_of(freed.ann) == claims + (over ? 0 : 3));
}

TEST_CASE("a claim that starts from a document is made from a fresh look", "[mirrored][M2]") {
  MirrorFleet fleet;
  for (auto& opened : fleet.stores) opened.store = std::make_shared<LagsBehind>(opened.store);
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const Claim first = claim_of(*ann.store, Token{{1}});
  REQUIRE(ann.store->claim("jobs", FromAbsent{}, first));
  REQUIRE(ann.store->release("jobs", first.ts) == ReleaseResult::freed);
  const Claim later = claim_of(*ann.store, Token{{2}});
  CHECK(ann.store->claim("jobs", FromFree{first.ts}, later));
}

TEST_CASE("a claim that too few members are there for is an error, and not refused",
          "[mirrored][M2]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const Claim claim = claim_of(*ann.store, Token{{1}});
  for (const std::size_t away : {1, 2}) ann.set_away(away, true);
  CHECK(thrown_by([&] { ann.store->claim("jobs", FromAbsent{}, claim); }) == Errc::not_applied);
}

TEST_CASE("a claim for more fences than there are is refused, and no member is asked for it",
          "[mirrored][M3][R21]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  Claim claim = claim_of(*ann.store, Token{{1}});
  claim.fences = 10;
  const Fence missing = GENERATE(0, 1, 2);
  for (OpenedMemoryStore& opened : fleet.stores) {
    opened.tables.put_lock({{"_id", std::string("jobs")},
                            {"state", std::int32_t{0}},
                            {"who", std::string()},
                            {"fence", std::numeric_limits<Fence>::max() - 11 + missing}});
  }
  const int claims = claims_of(ann);
  CHECK(ann.store->claim("jobs", FromFree{}, claim).has_value() == (missing == 0));
  CHECK(claims_of(ann) == claims + (missing == 0 ? 3 : 0));
}

TEST_CASE(
    "a hold that is claimed anew from itself gets a greater fence where the claim states none",
    "[mirrored][M3][M9]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  const Claim claim = claim_of(*ann.store, Token{{1}});
  const auto hold = ann.store->claim("jobs", FromAbsent{}, claim);
  REQUIRE(hold);
  const auto anew = ann.store->claim("jobs", FromHold{claim.ts, std::nullopt}, claim);
  REQUIRE(anew);
  CHECK(anew->fence == hold->fence + 1);
  CHECK(anew->members.size() == 3);
}

TEST_CASE("an unlock waits for no claim that a member has refused by an error",
          "[mirrored][M2][R11]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[0]->fail("claim", Fault::rejected);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  ann.set_away(1, true);
  CHECK(lock->unlock() == UnlockResult::released);
}

TEST_CASE("a ping says nothing of a member that gave a claim from its own release no answer",
          "[mirrored][M2]") {
  FreedByAll freed;
  freed.ann.members[0]->fail("claim", Fault::lost_request);
  REQUIRE(freed.ann.store->claim("jobs", freed.basis, freed.claim));
  static_cast<void>(freed.ann.store->ping("ann"));
  std::vector<std::size_t> claimed;
  for (std::size_t i = 0; i < 3; ++i) {
    freed.ann.members[i]->before("claim", [&, i] { claimed.push_back(i); });
  }
  REQUIRE(freed.ann.store->claim("other", FromAbsent{}, claim_of(*freed.ann.store, Token{{3}})));
  CHECK(claimed == std::vector<std::size_t>{1, 2, 0});
}

// The member shows the hold of before as it is asked for it, and another thread learns of its
// return before the others have answered.
TEST_CASE("a claim from the process's own release hears of a return while it is made",
          "[mirrored][M6]") {
  FreedByAll freed;
  const auto bob = freed.fleet.process("bob");
  MemoryTables& second = freed.fleet.stores[1].tables;
  const MemoryTables old = second;
  freed.ann.members[1]->before("claim", [&] {
    second.clear();
    bob.set_away(2, true);
    static_cast<void>(thrown_by([&] { bob.store->members()->readmit(1); }));
    bob.set_away(2, false);
    REQUIRE(bob.store->members()->readmit(1));
    second = old;
  });
  freed.ann.members[2]->before("claim", [&] {
    static_cast<void>(freed.ann.store->list());
    throw Error(Errc::not_applied, "the member is away");
  });
  CHECK(thrown_by([&] { freed.ann.store->claim("jobs", freed.basis, freed.claim); }) ==
        Errc::outcome_unknown);
}
