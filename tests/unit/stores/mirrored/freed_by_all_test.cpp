#include "stores/mirrored/freed_by_all.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

// Holds from which a claim of their process may start without a look (M2, M6).

using namespace distlock;
using namespace distlock::mirrored;
using namespace std::chrono_literals;

namespace {

constexpr SteadyTime kAsked{1h};
const Token kHold{{1}};
const Token kOthers{{2}};
const Token kMember{{11}};

LockRecord granted_by(const Token& member, const Token& ts) {
  LockRecord hold{.name = "jobs", .ts = ts, .fence = 1};
  hold.members.push_back(member);
  return hold;
}

}  // namespace

TEST_CASE("the members that granted a hold are known of that hold alone", "[mirrored][M6]") {
  FreedByAll freed;
  freed.note_granted("jobs", granted_by(kMember, kHold));
  SECTION("of the one that was granted") {
    freed.note_freed("jobs", kHold, kAsked);
    CHECK(freed.take("jobs", kHold).value().members == std::vector<Token>{kMember});
  }
  SECTION("and not of another one that was freed") {
    freed.note_freed("jobs", kOthers, kAsked);
    CHECK(freed.take("jobs", kOthers).value().members.empty());
  }
}

TEST_CASE("a claim starts without a look from the hold that was freed, and from no other",
          "[mirrored][M2]") {
  FreedByAll freed;
  freed.note_granted("jobs", granted_by(kMember, kHold));
  CHECK_FALSE(freed.take("jobs", kHold));
  freed.note_freed("jobs", kHold, kAsked);
  CHECK_FALSE(freed.take("jobs", kOthers));
  CHECK_FALSE(freed.take("rotate", kHold));
  CHECK(freed.take("jobs", kHold).value().asked == kAsked);
  CHECK_FALSE(freed.take("jobs", kHold));
}

TEST_CASE("of very many locks the last holds are forgotten", "[mirrored][M2]") {
  FreedByAll freed;
  for (int i = 0; i <= 1000; ++i) freed.note_freed("lock" + std::to_string(i), kHold, kAsked);
  CHECK_FALSE(freed.take("lock0", kHold));
  CHECK(freed.take("lock1000", kHold));
}
