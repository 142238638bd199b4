#include "cli/break_ring.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_status.h"
#include "cli/operator.h"
#include "distlock/line.h"

// For whom a break rings, and when (R19).
using namespace distlock;
using namespace distlock::cli;
using namespace std::chrono_literals;
using distlock::testing::Fault;

namespace {

struct Ring {
  std::string process;
  std::chrono::milliseconds at;  ///< Since the break began.

  bool operator==(const Ring&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Ring& ring) {
  return out << ring.process << " at " << ring.at.count() << " ms";
}
using Rings = std::vector<Ring>;

/// An operator who frees "jobs", and a line of processes that claim only when the test says so.
class Breaking {
 public:
  Breaking() { store().has_line = true; }

  void line_up(const std::vector<std::string>& processes) {
    for (const std::string& process : processes) {
      tickets_[process] = Token{{static_cast<std::uint8_t>(tickets_.size() + 1)}};
      REQUIRE(line().stand("jobs", claim_of(process)).in_line);
      listening_.push_back(
          line().listen(process, [this, process](std::string_view) { heard(process); }));
    }
  }
  /// The calls of the break are in store().calls() then.
  Rings rings_of_a_break() {
    store().forget_calls();
    begun_ = someone.fleet.clock->steady_now();
    CHECK(someone.breaks("jobs", "y\n") == kSuccess);
    took =
        std::chrono::floor<std::chrono::milliseconds>(someone.fleet.clock->steady_now() - begun_);
    return rings;
  }
  bool claims(const std::string& process) {
    return line().stand("jobs", claim_of(process)).hold.has_value();
  }
  /// `process` claims as soon as it is rung.
  void claims_when_rung(const std::string& process) {
    store().after("ring", [this, process] { REQUIRE(claims(process)); });
  }
  distlock::testing::FaultyStore& store() { return *someone.observer.store; }

  Operator someone;
  Rings rings;
  std::chrono::milliseconds took{};

 private:
  Line& line() { return *someone.fleet.store->line(); }
  Claim claim_of(const std::string& process) {
    return someone.fleet.claim_by(process, tickets_.at(process));
  }
  void heard(const std::string& process) {
    const auto now = someone.fleet.clock->steady_now();
    rings.push_back({process, std::chrono::floor<std::chrono::milliseconds>(now - begun_)});
  }

  SteadyTime begun_{};
  std::map<std::string, Token> tickets_;
  std::vector<std::shared_ptr<void>> listening_;
};

}  // namespace

TEST_CASE("break rings for all who wait, in their turns, for as long as nobody claims",
          "[cli][break][R17][R19]") {
  Breaking breaking;
  SECTION("three") {
    breaking.line_up({"a", "b", "c"});
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}, {"c", 150ms}});
    CHECK(breaking.claims("c"));
  }
  SECTION("five") {
    breaking.line_up({"a", "b", "c", "d", "e"});
    CHECK(breaking.rings_of_a_break() ==
          Rings{{"a", 0ms}, {"b", 0ms}, {"c", 150ms}, {"d", 200ms}, {"e", 225ms}});
    CHECK(breaking.took == 225ms);
  }
  SECTION("two, who have both been told at once") {
    breaking.line_up({"a", "b"});
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}});
    CHECK(breaking.took == 5ms);
  }
}

TEST_CASE("break rings no more once somebody has claimed", "[cli][break][R17][R19]") {
  Breaking breaking;
  breaking.line_up({"a", "b", "c", "d"});
  SECTION("the first one at once") {
    breaking.claims_when_rung("a");
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}});
    CHECK(breaking.took == 5ms);
  }
  SECTION("or a later one") {
    // After the ring for the first two.
    breaking.store().after("ring", [&] { breaking.claims_when_rung("c"); });
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}, {"c", 150ms}});
    CHECK(breaking.took == 200ms);
  }
  SECTION("also where that one has freed it again") {
    breaking.store().after("ring", [&] {
      REQUIRE(breaking.claims("a"));
      const Token ts = *breaking.someone.fleet.stored("jobs").ts;
      REQUIRE(breaking.someone.fleet.store->release("jobs", ts) == ReleaseResult::freed);
    });
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}});
    CHECK(breaking.took == 5ms);
  }
}

TEST_CASE("break makes no call for a line that is empty", "[cli][break][R19]") {
  Breaking breaking;
  const bool one_waits = GENERATE(false, true);
  if (one_waits) breaking.line_up({"a"});
  CHECK(breaking.rings_of_a_break().size() == (one_waits ? 1 : 0));
  CHECK(breaking.store().calls("ring") == (one_waits ? 1 : 0));
  CHECK(breaking.store().calls("release") == 1);
  CHECK(breaking.store().calls("inspect") == 2);  // Before the release.
  CHECK(breaking.took == 0ms);
}

TEST_CASE("break has freed the lock also where it cannot ring", "[cli][break][R19]") {
  Breaking breaking;
  breaking.line_up({"a", "b", "c", "d"});
  SECTION("for the first two") {
    breaking.store().fail("ring", Fault::rejected);
    CHECK(breaking.rings_of_a_break() == Rings{{"c", 150ms}, {"d", 200ms}});
  }
  SECTION("at a look of the many") {
    breaking.store().after("ring", [&] { breaking.store().fail("inspect", Fault::rejected); });
    // It looks again a turn later.
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}, {"c", 150ms}, {"d", 200ms}});
  }
  SECTION("since the store does not answer any more") {
    breaking.store().after("ring",
                           [&] { breaking.store().fail("inspect", Fault::rejected, 1000); });
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}});
    CHECK(breaking.took > 800ms);
    CHECK(breaking.took <= 1s);
  }
  SECTION("within a second") {
    breaking.store().after("ring", [&] {
      breaking.store().before("inspect", [&] { breaking.someone.fleet.clock->advance(5s); });
    });
    CHECK(breaking.rings_of_a_break() == Rings{{"a", 0ms}, {"b", 0ms}});
  }
  CHECK_FALSE(breaking.someone.taken());
}

TEST_CASE("break says that it has freed the lock before it rings for those behind",
          "[cli][break][R19]") {
  Breaking breaking;
  breaking.line_up({"a", "b", "c"});
  std::string said;
  breaking.store().after("ring", [&] {
    breaking.store().before("inspect", [&] { said = breaking.someone.err.str(); });
  });
  breaking.rings_of_a_break();
  CHECK_THAT(said, Catch::EndsWith("freed jobs\n"));
}

TEST_CASE("break rings for nobody where it frees nothing", "[cli][break][R19]") {
  Breaking breaking;
  breaking.line_up({"a", "b", "c"});
  breaking.store().before("release", [&] {
    breaking.someone.lock->unlock();
    breaking.rings.clear();
  });
  CHECK(breaking.rings_of_a_break().empty());
}

TEST_CASE("break releases durably, since its process ends right after it", "[cli][break][R3]") {
  Operator someone;
  someone.observer.store->has_line = true;
  CHECK(someone.breaks("jobs", "y\n") == kSuccess);
  CHECK_FALSE(someone.taken());
  CHECK(someone.observer.store->quick_releases == 0);
}
