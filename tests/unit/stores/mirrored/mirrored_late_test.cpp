#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <new>

#include "distlock/error.h"
#include "distlock/members.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"
#include "unit/stores/mirrored/three_members.h"

// Answers of members that were long on their way (M6).

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// Meanwhile the member may have lost what the answer shows, and have come back.
TEST_CASE("an answer that was too long on its way does not count, however soon the identity comes",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  const bool late = GENERATE(false, true);
  const auto longest = 2 * ann.members[1]->call_limit();
  ann.members[1]->after("list", [&] { fleet.clock->advance(longest + (late ? 1ms : 0ms)); });
  const auto failure = thrown_by([&] { return ann.store->list(); });
  CHECK(failure == (late ? std::optional(Errc::not_applied) : std::nullopt));
}

// Its server may have been deposed between the ping and the end of the wait.
TEST_CASE("a ping that was sent before the end of the wait shows no server to be current",
          "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  Members& members = *ann.store->members();
  ann.pinger->ping_round();
  fleet.empty(1);
  static_cast<void>(ann.store->list());
  fleet.clock->advance(ann.store->call_limit() + 1ms);
  members.mend();  // Marks the member.
  members.mend();  // Tells the others, so that the wait begins.
  REQUIRE(ann.condition(1) == MemberState::Condition::kept_out);

  const bool sent_before = GENERATE(false, true);
  fleet.clock->advance(1h - (sent_before ? 1ms : 0ms));
  ann.members[0]->after("ping", [&] { fleet.clock->advance(1ms); });
  static_cast<void>(ann.store->ping("ann"));
  members.mend();  // Asks for the fences.
  members.mend();  // Takes the member back.
  CHECK((ann.condition(1) == MemberState::Condition::kept_out) == sent_before);

  static_cast<void>(ann.store->ping("ann"));
  members.mend();
  members.mend();
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}

// The cutoff names the clock of a member that has stepped back since it was made.
TEST_CASE("a claim reaches no member later than a call may take, whatever another's clock says",
          "[mirrored][M3][R8]") {
  MirrorFleet fleet;
  fleet.clocks_can_step = true;
  const auto ann = fleet.process("ann");
  Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{1}}};
  claim.takeover_after = 16min;
  claim.cutoff = ann.store->list().now;
  claim.cutoff.time += ann.store->call_limit();
  const std::size_t named = fleet.clocks.size() - 3;
  fleet.clocks[named]->step(-10min);
  ann.members[2]->fail("claim", Fault::delayed);
  REQUIRE(ann.store->claim("jobs", FromAbsent{}, claim));
  fleet.clock->advance(2 * ann.store->call_limit());
  ann.members[2]->deliver();
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
}

TEST_CASE("a claim with less time than a call may take reaches no member after its cutoff",
          "[mirrored][M3][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{1}}};
  claim.takeover_after = 16min;
  claim.cutoff = ann.store->list().now;
  claim.cutoff.time += 1s;
  ann.members[2]->fail("claim", Fault::delayed);
  REQUIRE(ann.store->claim("jobs", FromAbsent{}, claim));
  fleet.clock->advance(1s + 1ms);
  ann.members[2]->deliver();
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
}

// A hold there would have a ping that is a window old (R7).
TEST_CASE("a member whose ping was sent a window ago is not claimed, however late its answer came",
          "[mirrored][M5]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  static_cast<void>(ann.store->list());
  const auto window = GENERATE(as<std::chrono::milliseconds>(), 1ms, 16min);
  const auto on_its_way = std::min<std::chrono::milliseconds>(window, 1s);
  ann.members[0]->after("ping", [&] { fleet.clock->advance(on_its_way); });
  static_cast<void>(ann.store->ping("ann"));
  fleet.clock->advance(window - on_its_way);
  Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{1}}};
  claim.takeover_after = window;
  claim.cutoff = ann.store->list().now;
  claim.cutoff.time += ann.store->call_limit();
  CHECK(ann.store->claim("jobs", FromAbsent{}, claim));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "ann", "ann"});
}

TEST_CASE("an unlock says pending while its claim may still come, also after another claim",
          "[mirrored][M2][R11]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.members[0]->fail("claim", Fault::delayed);
  const auto lock = ann.lock("jobs");
  REQUIRE(lock->lock_try("x"));
  const auto other = ann.lock("other");
  REQUIRE(other->lock_try("x"));
  REQUIRE(fleet.holders("other")[0] == "ann");
  ann.set_away(1, true);
  CHECK(lock->unlock() == UnlockResult::pending);
}

TEST_CASE("a claim whose members cannot be looked at right after it is settled by a majority",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  ann.pinger->ping_round();
  ann.set_away(2, true);
  for (const std::size_t i : {0, 1}) {
    ann.members[i]->after("claim", [&, i] { ann.members[i]->fail("inspect", Fault::rejected); });
  }
  const auto lock = ann.lock("jobs");
  CHECK(lock->lock_try("x"));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "ann", ""});
}

// As that of a server that was deposed before the last ping.
TEST_CASE("a listing that lacks the last ping of its process tells no fences", "[mirrored][M6]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  Members& members = *ann.store->members();
  ann.pinger->ping_round();
  MemoryTables& first = fleet.stores[0].tables;
  const Document old = first.raw_ping("ann").value();
  fleet.empty(1);
  static_cast<void>(ann.store->list());
  fleet.clock->advance(ann.store->call_limit() + 1ms);
  members.mend();  // Marks the member.
  members.mend();  // Tells the others, so that the wait begins.
  REQUIRE(ann.condition(1) == MemberState::Condition::kept_out);
  fleet.clock->advance(1h);
  static_cast<void>(ann.store->ping("ann"));
  const Document newest = first.raw_ping("ann").value();
  first.put_ping(old);
  members.mend();
  members.mend();
  CHECK(ann.condition(1) == MemberState::Condition::kept_out);
  first.put_ping(newest);
  members.mend();  // Asks for the fences.
  members.mend();  // Takes the member back.
  CHECK(ann.condition(1) == MemberState::Condition::counts);
}

// The others are eve's by then.
TEST_CASE("a refused claim that may still come to a member has to be released",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{2}}};
  claim.takeover_after = 16min;
  claim.cutoff = ann.store->list().now;
  claim.cutoff.time += ann.store->call_limit();
  ann.members[0]->fail("claim", Fault::delayed);
  for (const std::size_t i : {1, 2}) {
    ann.members[i]->before("claim", [&fleet, i] { fleet.put_taken(i, Token{{9}}); });
  }
  CHECK_FALSE(ann.store->claim("jobs", FromAbsent{}, claim));
  CHECK(ann.store->members()->take_left(claim.ts));
  CHECK_FALSE(ann.store->members()->take_left(claim.ts));
  ann.members[0]->deliver();
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"ann", "eve", "eve"});
}

TEST_CASE("a claim that ends in another exception on a member is freed there",
          "[mirrored][M2][R8]") {
  MirrorFleet fleet;
  const auto ann = fleet.process("ann");
  Claim claim{.process = "ann", .who = "ann:1", .why = "x", .ts = Token{{2}}};
  claim.takeover_after = 16min;
  claim.cutoff = ann.store->list().now;
  claim.cutoff.time += ann.store->call_limit();
  ann.members[0]->after("claim", [] { throw std::bad_alloc(); });
  for (const std::size_t i : {1, 2}) ann.members[i]->fail("claim", Fault::rejected);
  CHECK(thrown_by([&] { return ann.store->claim("jobs", FromAbsent{}, claim); }));
  CHECK(fleet.holders("jobs") == std::vector<std::string>{"", "", ""});
}

TEST_CASE("an answer that comes when nobody waits for it any more shows no quick member",
          "[mirrored][M2]") {
  ThreeIdle three;
  Gate first;
  Gate slow;
  Gate again;
  const std::array<OpenedAtLast, 3> opened{{{first}, {slow}, {again}}};
  const auto look_behind = [&three](Gate& gate) {
    three.members[1]->before("carried", [&gate] { gate.pass(); });
    static_cast<void>(three.store->carried("jobs"));
  };
  look_behind(first);
  REQUIRE(three.waits() == 1);
  three.clock->advance(3 * three.members[1]->call_limit());
  first.open();
  ThreeIdle::settle();
  look_behind(slow);
  CHECK(three.waits() == 1);
  slow.open();
  ThreeIdle::settle();
  // A quick one does.
  static_cast<void>(three.store->carried("jobs"));
  ThreeIdle::settle();
  look_behind(again);
  CHECK(three.waits() == 2);
}
