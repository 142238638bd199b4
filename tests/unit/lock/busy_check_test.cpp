#include "lock/busy_check.h"

#include <catch2/catch.hpp>
#include <map>

#include "distlock/error.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

constexpr Token kFirst{{1}};
constexpr Token kSecond{{2}};

// The lock is free on each of these members, by `ts`.
Inspection look_at(const std::map<Token, Token>& members) {
  Inspection seen;
  for (const auto& [member, ts] : members) {
    Inspection& one = seen.members.emplace_back();
    one.member = member;
    one.lock = LockRecord{.name = "jobs"};
    one.lock->ts = ts;
  }
  if (!seen.members.empty()) seen.lock = seen.members.front().lock;
  return seen;
}

bool says_busy(const Inspection& before, const Inspection& after,
               const std::vector<Token>& own = {}) {
  const auto refused = thrown_by([&] { return check_busy("jobs", before, after, own), 0; });
  REQUIRE(refused.value_or(Errc::not_applied) == Errc::not_applied);
  return !refused;
}

}  // namespace

TEST_CASE("of a free lock busy is said where a member that was seen twice has a new hold's ts",
          "[lock][mirrored][R2]") {
  const Inspection before = look_at({{kFirst, {{10}}}, {kSecond, {{10}}}});
  CHECK_FALSE(says_busy(before, before));
  const Inspection after = look_at({{kFirst, {{10}}}, {kSecond, {{11}}}});
  CHECK(says_busy(before, after));
  CHECK_FALSE(says_busy(before, after, {{{11}}}));
}

TEST_CASE("a member that was away at the look before makes no lock busy", "[lock][mirrored][R2]") {
  const Inspection before = look_at({{kFirst, {{10}}}});
  CHECK_FALSE(says_busy(before, look_at({{kFirst, {{10}}}, {kSecond, {{9}}}})));
}

TEST_CASE("a hold that another member has had already is no new one", "[lock][mirrored][R2]") {
  const Inspection before = look_at({{kFirst, {{10}}}, {kSecond, {{9}}}});
  CHECK_FALSE(says_busy(before, look_at({{kFirst, {{10}}}, {kSecond, {{10}}}})));
}

TEST_CASE("an own hold that is still to be undone makes no lock busy", "[lock][R2]") {
  Inspection before;
  before.lock = LockRecord{.name = "jobs"};
  before.lock->ts = Token{{10}};
  Inspection after = before;
  after.lock->state = LockState::taken;
  after.lock->ts = Token{{11}};
  CHECK(says_busy(before, after));
  CHECK_FALSE(says_busy(before, after, {{{11}}}));
}
