#include <catch2/catch.hpp>
#include <string>

#include "distlock/error.h"
#include "distlock/members.h"
#include "stores/mirrored/identity.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

// Sets that their founders have left to fewer members than a majority, and when another process
// founds a set in their place (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// Ann has founded a set with the first member. Her claims of the others are on their way.
struct HalfFounded {
  HalfFounded() {
    for (const std::size_t i : {1, 2}) ann.members[i]->fail("claim", Fault::delayed, 2);
    REQUIRE(thrown_by([&] { return ann.store->list(); }) == Errc::not_applied);
  }
  void deliver() const {
    for (const auto& member : ann.members) member->deliver();
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
};

/// Parts of two sets: ann's on the first member, and bob's on the second. The third is empty.
struct PartsOfTwoSets {
  PartsOfTwoSets() {
    for (const std::size_t i : {1, 2}) ann.members[i]->fail("claim", Fault::lost_request, 2);
    REQUIRE(thrown_by([&] { return ann.store->list(); }) == Errc::not_applied);
    MirrorFleet other;
    static_cast<void>(other.process("bob").store->list());
    fleet.stores[1].tables = other.stores[1].tables;
    fleet.outlast_founders();
  }

  MirrorFleet fleet;
  MirrorProcess ann = fleet.process("ann");
};

std::vector<std::string> sets(MirrorFleet& fleet) {
  return fleet.holders(std::string(mirrored::kIdentityName));
}

bool cannot_list(const MirrorProcess& process) {
  return thrown_by([&] { return process.store->list(); }) == Errc::not_applied;
}

}  // namespace

TEST_CASE("a set is completed only when claims of its founder can come no more", "[mirrored][M6]") {
  HalfFounded half;
  const auto bob = half.fleet.process("bob");
  half.fleet.clock->advance(2 * bob.store->call_limit() - 11s);
  const auto before = sets(half.fleet);
  CHECK(cannot_list(bob));
  CHECK(sets(half.fleet) == before);
  half.fleet.clock->advance(11s);
  CHECK_NOTHROW(bob.store->list());
  half.deliver();
  for (std::size_t i = 0; i < 3; ++i) CHECK(bob.condition(i) == MemberState::Condition::counts);
}

TEST_CASE("a member whose clock was set back by hours holds up no founding", "[mirrored][M6]") {
  HalfFounded half;
  half.fleet.clocks[0]->step(-5h);
  CHECK_NOTHROW(half.fleet.process("bob").store->list());
}

TEST_CASE("an identity of any date holds up no founding", "[mirrored][M6][R14]") {
  HalfFounded half;
  MemoryTables& tables = half.fleet.stores[0].tables;
  Document identity = *tables.raw_lock(mirrored::kIdentityName);
  for (auto& [field, value] : identity) {
    if (field == "when") value = GENERATE(StoreTime::min(), StoreTime::max());
  }
  tables.put_lock(identity);
  CHECK_NOTHROW(half.fleet.process("bob").store->list());
}

TEST_CASE("a founding by one list is not completed by another while claims are under way",
          "[mirrored][M6][M7][R1]") {
  HalfFounded half;
  half.fleet.exchange_last();
  const auto bob = half.fleet.process("bob");
  bob.members[1]->before("claim", [&] { half.deliver(); });
  const auto bobs = bob.lock("jobs");
  bool bob_holds = false;
  static_cast<void>(thrown_by([&] { bob_holds = bobs->lock_try("x"); }));
  half.deliver();
  CHECK(half.ann.lock("jobs")->lock_try("y"));
  CHECK_FALSE(bob_holds);
}

TEST_CASE("parts of two sets become one set", "[mirrored][M6]") {
  PartsOfTwoSets parts;
  const auto carol = parts.fleet.process("carol");
  CHECK(cannot_list(carol));
  CHECK(carol.lock("jobs")->lock_try("x"));
  for (std::size_t i = 0; i < 3; ++i) CHECK(carol.condition(i) == MemberState::Condition::counts);
}

TEST_CASE("parts of two sets stay as long as a founder may be at work", "[mirrored][M6]") {
  HalfFounded half;
  MirrorFleet other;
  static_cast<void>(other.process("bob").store->list());
  half.fleet.stores[1].tables = other.stores[1].tables;
  const auto before = sets(half.fleet);
  CHECK(cannot_list(half.fleet.process("carol")));
  CHECK(sets(half.fleet) == before);
}

TEST_CASE("parts of two sets stay where a process used one of them", "[mirrored][M6]") {
  PartsOfTwoSets parts;
  const std::size_t member = GENERATE(0, 1);
  parts.fleet.stores[member].store->ping("eve");
  const auto before = sets(parts.fleet);
  const auto carol = parts.fleet.process("carol");
  CHECK(cannot_list(carol));
  CHECK(cannot_list(carol));
  CHECK(sets(parts.fleet) == before);
}

// Members of both sets together are a majority.
TEST_CASE("parts of two sets become none while a process uses one of them",
          "[mirrored][M6][M7][R1]") {
  PartsOfTwoSets parts;
  const auto carol = parts.fleet.process("carol");
  carol.members[0]->before("claim", [&] { parts.fleet.put_taken(1); });
  for (int i = 0; i < 3; ++i) CHECK(cannot_list(carol));
}

TEST_CASE("of processes that complete a founding at once one alone claims more than one member",
          "[mirrored][M6]") {
  MirrorFleet fleet(5);
  {
    const auto eve = fleet.process("eve");
    for (const std::size_t i : {2, 3, 4}) eve.members[i]->fail("claim", Fault::lost_request, 2);
    REQUIRE(cannot_list(eve));
  }
  fleet.outlast_founders();
  const auto ann = fleet.process("ann");
  // Another process is before ann at the first member, and then does no more.
  ann.members[0]->fail("claim", Fault::rejected);
  REQUIRE(cannot_list(ann));
  CHECK(ann.members[1]->calls("claim") == 0);
  // No identity is younger by that, so nobody has to wait.
  CHECK(fleet.process("bob").lock("jobs")->lock_try("x"));
}

TEST_CASE("a process that comes to a half-made set is told when to try again", "[mirrored][M6]") {
  HalfFounded half;
  const auto bob = half.fleet.process("bob");
  std::string why;
  try {
    static_cast<void>(bob.store->list());
  } catch (const Error& error) {
    why = error.what();
  }
  const std::string text = "try again in ";
  const auto at = why.find(text);
  REQUIRE(at != std::string::npos);
  half.fleet.clock->advance(std::chrono::milliseconds{std::stoll(why.substr(at + text.size()))});
  CHECK_NOTHROW(bob.store->list());
}
