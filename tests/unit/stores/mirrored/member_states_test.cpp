// How members of a mirrored store fare, told from looks at them, wherever they stand.
#include "stores/mirrored/member_states.h"

#include <catch2/catch.hpp>

#include "stores/mirrored/quorum.h"
#include "unit/stores/mirrored/identity_document.h"

using namespace distlock;
using namespace distlock::mirrored;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

using Condition = MemberState::Condition;
using Looks = std::vector<std::optional<MemberLook>>;

constexpr Token kSet{{5}};

MemberLook look_with(const LockRecord& identity) {
  MemberLook look{.identity = {.lock = identity, .fresh = true}, .listing = {}};
  look.listing.locks.push_back({std::string(kIdentityName), identity, {}});
  look.listing.now = {StoreTime{1h}, "clock"};
  return look;
}

Token token_of(const Place& place) { return Token{{9, static_cast<std::uint8_t>(place.number)}}; }

MemberLook member_of(const Token& set, const Place& place) {
  return look_with(document_of(identity_claim(token_of(place), {set, 1h, {}}, place, {})));
}
MemberLook kept_out_at(const Place& place) {
  return look_with(document_of(marker_claim(token_of(place), {kSet, 1h, {}}, place, {})));
}

/// Members of one set, each at its place.
Looks whole_set(std::size_t of) {
  Looks looks;
  for (std::size_t i = 0; i < of; ++i) looks.emplace_back(member_of(kSet, {i, of}));
  return looks;
}

void put_taken(MemberLook& look, const std::string& name, Fence fence = 7) {
  LockRecord lock{.name = name, .state = LockState::taken, .ts = Token{{3}}};
  lock.fence = fence;
  look.listing.locks.push_back({name, lock, {}});
}
void put_malformed(MemberLook& look) { look.listing.locks.push_back({"odd", {}, "it is odd"}); }

void set_fence(MemberLook& look, Fence fence_of_document) {
  look.identity.lock->fence = fence_of_document;
  look.listing.locks.front().record->fence = fence_of_document;
}

}  // namespace

TEST_CASE("of five clocks the middle one is that which all are compared with", "[mirrored][M8]") {
  Looks looks = whole_set(5);
  for (std::size_t i = 0; i < 5; ++i) looks[i]->off = static_cast<int>(i) * 10ms;
  const auto states = states_of(looks);
  CHECK(states[0].ahead == -20ms);
  CHECK(states[2].ahead == 0ms);
  CHECK(states[4].ahead == 20ms);
}

TEST_CASE("a member of another set than most is strange, wherever it stands",
          "[mirrored][M6][M8]") {
  const std::size_t stranger = GENERATE(0, 1, 2);
  const std::uint8_t another = GENERATE(as<std::uint8_t>(), 1, 9);
  Looks looks = whole_set(3);
  looks[stranger] = member_of(Token{{another}}, {stranger, 3});
  const auto states = states_of(looks);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(states[i].condition == (i == stranger ? Condition::strange : Condition::counts));
    CHECK(states[i].problem.empty());
  }
}

TEST_CASE("members at other places are strange, and not empty, where none is in its place",
          "[mirrored][M7]") {
  Looks looks = whole_set(3);
  std::swap(looks[0], looks[1]);
  looks[2].reset();
  const auto states = states_of(looks);
  CHECK(states[0].condition == Condition::strange);
  CHECK(states[1].condition == Condition::strange);
  CHECK(states[2].condition == Condition::away);
}

TEST_CASE("of members without a hold of a majority those alone lack it that count",
          "[mirrored][M8]") {
  const std::size_t lacking = GENERATE(0, 1, 2, 3, 4);
  const std::size_t stranger = (lacking + 1) % 5;
  Looks looks = whole_set(5);
  looks[stranger] = member_of(Token{{1}}, {stranger, 5});
  for (std::size_t i = 0; i < 5; ++i) {
    if (i != lacking && i != stranger) put_taken(*looks[i], "jobs");
  }
  const auto states = states_of(looks);
  for (std::size_t i = 0; i < 5; ++i) CHECK(states[i].lacks == (i == lacking ? 1 : 0));
}

TEST_CASE("a copy of a member is told of, wherever it stands, and the member is not",
          "[mirrored][M7]") {
  const std::size_t copy = GENERATE(0, 1, 2, 3, 4);
  const std::size_t of = (copy + GENERATE(1, 4)) % 5;
  Looks looks = whole_set(5);
  looks[copy] = looks[of];
  looks[(copy + 2) % 5].reset();
  looks[(copy + 3) % 5] = MemberLook{.identity = {}, .listing = {}};
  const auto states = states_of(looks);
  CHECK(states[copy].condition == Condition::strange);
  CHECK_THAT(states[copy].problem, Catch::Contains("or a copy of it"));
  CHECK(states[of].condition == Condition::counts);
  CHECK(states[of].problem.empty());
}

TEST_CASE("locks are no fault of a member that counts, nor of one of another set",
          "[mirrored][M6][M8]") {
  Looks looks = whole_set(3);
  looks[1] = member_of(Token{{1}}, {1, 3});
  for (auto& look : looks) put_taken(*look, "jobs");
  for (const MemberState& state : states_of(looks)) CHECK(state.problem.empty());
}

TEST_CASE("a member whose identity has a great fence shows that, whatever locks it has",
          "[mirrored][M3][M8]") {
  const std::size_t great = GENERATE(0, 1, 2);
  Looks looks = whole_set(3);
  for (auto& look : looks) put_taken(*look, "jobs");
  put_malformed(*looks[great]);
  set_fence(*looks[great], kGreatFence + 1);
  const auto states = states_of(looks);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i != great) CHECK(states[i].problem.empty());
  }
  CHECK_THAT(states[great].problem, Catch::Contains("its identity has a fence"));
}

TEST_CASE("a lock's great fence is told of the member that has it, wherever it stands",
          "[mirrored][M3][M8]") {
  const std::size_t great = GENERATE(0, 1, 2);
  Looks looks = whole_set(3);
  for (std::size_t i = 0; i < 3; ++i) put_taken(*looks[i], "jobs", i == great ? kGreatFence : 7);
  put_malformed(*looks[great]);
  const auto states = states_of(looks);
  for (std::size_t i = 0; i < 3; ++i) {
    if (i != great) CHECK(states[i].problem.empty());
  }
  CHECK_THAT(states[great].problem, Catch::Contains("\"jobs\" has a fence there"));
}

// The document's fence is one more than that of any hold which the member has lost.
TEST_CASE("a member that has lost holds with all fences but great ones shows no fault",
          "[mirrored][M3][M8]") {
  const std::size_t greatest = GENERATE(0, 1, 2);
  Looks looks = whole_set(3);
  set_fence(*looks[greatest], kGreatFence);
  for (const MemberState& state : states_of(looks)) CHECK(state.problem.empty());
}

TEST_CASE("a malformed lock is told of the member that has it, wherever it stands",
          "[mirrored][M8][R14]") {
  const std::size_t malformed = GENERATE(0, 1, 2);
  Looks looks = whole_set(3);
  for (auto& look : looks) put_taken(*look, "jobs");
  put_malformed(*looks[malformed]);
  const auto states = states_of(looks);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(states[i].problem == (i == malformed ? "it is odd" : ""));
  }
}

TEST_CASE("a malformed document keeps out those that lost their data, and no stranger",
          "[mirrored][M6][M8][R14]") {
  const std::size_t out = GENERATE(0, 1, 2, 3, 4);
  const std::size_t stranger = (out + 1) % 5;
  const std::size_t malformed = (out + 2) % 5;
  const bool has_locks = GENERATE(false, true);
  Looks looks = whole_set(5);
  looks[out] = kept_out_at({out, 5});
  if (has_locks) put_taken(*looks[out], "jobs");
  looks[stranger] = member_of(Token{{1}}, {stranger, 5});
  put_malformed(*looks[malformed]);
  const auto states = states_of(looks);
  REQUIRE(states[out].condition == Condition::kept_out);
  const std::string where = "member " + std::to_string(malformed + 1);
  CHECK_THAT(states[out].problem, Catch::Contains(has_locks ? "locks of its own" : where));
  CHECK(states[out].kept_out_for.has_value() == has_locks);
  CHECK(states[stranger].problem.empty());
  CHECK(states[malformed].problem == "it is odd");
}
