// The log about a member that is opened when it is there (M2).
#include "stores/mirrored/opening_member.h"

#include <catch2/catch.hpp>

#include "support/captured_log.h"
#include "support/mirror_fleet.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
using mirrored::OpeningMember;

TEST_CASE("the log tells of an opening that another try need not mend, and of no other",
          "[mirrored][log][M2]") {
  MirrorFleet fleet;
  const auto [errc, told] = GENERATE(table<Errc, bool>({{Errc::not_applied, false},
                                                        {Errc::invalid_argument, true},
                                                        {Errc::permission_denied, true}}));
  const auto open = [errc = errc]() -> std::shared_ptr<Store> {
    throw Error(errc, "it cannot be opened");
  };
  OpeningMember member(open, 1s, "third", fleet.clock);
  member.tell_faults();
  Captured log;
  CHECK(thrown_by([&] { return member.list(); }) == errc);
  CHECK(log.count(severity_level::warning, "it cannot be opened") == (told ? 1 : 0));
}

// It is one of a lock, and told elsewhere.
TEST_CASE("the log does not tell of a malformed document as a fault of its member",
          "[mirrored][log][R14]") {
  MirrorFleet fleet;
  fleet.stores[2].tables.put_lock({{"_id", std::string("jobs")}, {"state", std::string("odd")}});
  OpeningMember member([&] { return fleet.stores[2].store; }, 1s, "third", fleet.clock);
  member.tell_faults();
  Captured log;
  CHECK(thrown_by([&] { return member.inspect("jobs", Freshness::fresh); }) == Errc::bad_record);
  CHECK(log.lines().empty());
}
