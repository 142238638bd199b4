#include <catch2/catch.hpp>

#include "original/fleet_run.h"
#include "original/search.h"

using namespace distlock::original;
using distlock::sim::FaultSet;
using distlock::sim::Narrowing;

// The original, step by step as in Part 1 of docs/protocol.md, in the world in which our own
// classes find nothing. If the search did not find these, it would be no search.
namespace {

constexpr std::uint64_t kSchedules = 100'000;

void check_found(Flaw flaw, Algorithm algorithm = Algorithm::original) {
  const auto seed = first_seed(algorithm, flaw, kSchedules);
  CAPTURE(name_of(flaw));
  REQUIRE(seed);
}

void check_nothing_without_faults(Algorithm algorithm, std::uint64_t schedules) {
  Narrowing none;
  none.faults = FaultSet{};
  const std::atomic<bool> never{false};
  const Found found = search(algorithm, 0, schedules, none, never);
  for (std::size_t i = 0; i < kFlaws; ++i) {
    CAPTURE(about(algorithm), name_of(static_cast<Flaw>(i)));
    CHECK(found.times[i] == 0);
  }
}

}  // namespace

TEST_CASE("two originals take over one dead lock, and both hold", "[original][R2]") {
  check_found(Flaw::double_takeover);
}

TEST_CASE("an original's late unlock frees the next holder's lock", "[original][R3]") {
  check_found(Flaw::late_unlock);
}

TEST_CASE("an original's unlock that comes twice frees its own next hold", "[original][R3]") {
  check_found(Flaw::own_late_unlock);
}

TEST_CASE("an original with a fast clock takes over from a living holder", "[original][R4]") {
  check_found(Flaw::fast_clock);
}

TEST_CASE("an original with a slow clock loses its lock while it pings", "[original][R4]") {
  check_found(Flaw::slow_clock);
}

TEST_CASE("an original's cleanup of pings leaves a lock to nobody for ever", "[original][R13]") {
  check_found(Flaw::cleanup_wedge);
}

TEST_CASE("an original that dies before its first ping leaves its lock to nobody",
          "[original][R7]") {
  check_found(Flaw::no_first_ping);
}

TEST_CASE("a dead original whose clock was ahead keeps its lock for days", "[original][R4]") {
  check_found(Flaw::ping_in_the_future);
}

TEST_CASE("an original that does not know of its claim keeps the lock while it lives",
          "[original][R8]") {
  check_found(Flaw::stuck_claim);
}

TEST_CASE("an original whose unlock failed keeps the lock while it lives", "[original][R11]") {
  check_found(Flaw::stuck_unlock);
}

TEST_CASE("two originals win one tournament of three simulated servers",
          "[original][mirrored][M1]") {
  check_found(Flaw::two_winners, Algorithm::tournament);
}

TEST_CASE("an original's propagation comes late in the simulation, and both hold",
          "[original][mirrored][M1]") {
  check_found(Flaw::late_propagation, Algorithm::tournament);
}

TEST_CASE("an original's propagation takes a simulated lock that others have released",
          "[original][mirrored][M1]") {
  check_found(Flaw::propagation_of_free, Algorithm::tournament);
}

TEST_CASE("a simulated server that is away costs a living original its lock",
          "[original][mirrored][M4]") {
  check_found(Flaw::server_away, Algorithm::tournament);
}

TEST_CASE("a simulated release that a server did not hear keeps all originals out",
          "[original][mirrored][M2]") {
  check_found(Flaw::lost_release, Algorithm::tournament);
}

TEST_CASE("a simulated server that restarts without data breaks Redlock", "[original][M6]") {
  check_found(Flaw::emptied_server, Algorithm::redlock);
}

TEST_CASE("a simulated server's clock that is set ahead breaks Redlock", "[original][M4]") {
  check_found(Flaw::server_clock, Algorithm::redlock);
}

TEST_CASE("a simulated holder's clock that is set back breaks Redlock", "[original][R9]") {
  check_found(Flaw::own_clock, Algorithm::redlock);
}

TEST_CASE("a pause of a simulated holder after its majority breaks Redlock", "[original][R10]") {
  check_found(Flaw::pause_after_majority, Algorithm::redlock);
}

TEST_CASE("a thousand runs without any fault show nothing of Redlock or the tournament",
          "[original][mirrored][M1]") {
  check_nothing_without_faults(GENERATE(Algorithm::tournament, Algorithm::redlock), 1000);
}

TEST_CASE("originals with true clocks in a world without faults hold one at a time",
          "[original][R1]") {
  check_nothing_without_faults(Algorithm::original, 200);
}

TEST_CASE("the same seed gives the same run of originals, byte by byte", "[original]") {
  const auto algorithm = GENERATE(Algorithm::original, Algorithm::tournament, Algorithm::redlock);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::ostringstream one;
    std::ostringstream two;
    run(fleet_setup_from(algorithm, seed), &one);
    run(fleet_setup_from(algorithm, seed), &two);
    CAPTURE(seed);
    REQUIRE(one.str() == two.str());
    REQUIRE(one.str().size() > 1000);
  }
}
