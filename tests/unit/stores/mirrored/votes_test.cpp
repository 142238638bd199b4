// The replies to a claim, as votes (M2, M3).
#include "stores/mirrored/votes.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace distlock::mirrored;

namespace {

const Token kSet{{1}};

Reply<ClaimAnswer> grant_of_member(const Token& set, Fence lost) {
  Reply<ClaimAnswer> reply;
  reply.answer = ClaimAnswer{LockRecord{}};
  reply.identity = Identity{};
  reply.identity->set = set;
  reply.identity->fence = lost;
  return reply;
}

}  // namespace

TEST_CASE("a grant counts only with a fence greater than any that its member has lost",
          "[mirrored][M3]") {
  const Replies<ClaimAnswer> replies{grant_of_member(kSet, 5), grant_of_member(kSet, 6),
                                     grant_of_member(kSet, 7)};
  CHECK(votes_of(replies, kSet, 6) ==
        std::vector<Vote>{Vote::granted, Vote::refused, Vote::refused});
}

TEST_CASE("a grant of a member that is of no set, or of another, is of unknown outcome",
          "[mirrored][M2][M6]") {
  Reply<ClaimAnswer> without_identity = grant_of_member(kSet, 0);
  without_identity.identity.reset();
  const Replies<ClaimAnswer> replies{grant_of_member(Token{{2}}, 0), without_identity};
  CHECK(votes_of(replies, kSet, 6) == std::vector<Vote>{Vote::unknown, Vote::unknown});
}

TEST_CASE("an unknown outcome is told with the failure that leaves it unknown",
          "[mirrored][M2][R8]") {
  Replies<ClaimAnswer> replies(3);
  replies[0].failure = Error(Errc::not_applied, "the first refuses");
  replies[1].failure = Error(Errc::outcome_unknown, "the second is silent");
  const Error told = unknown_outcome(replies);
  CHECK(told.errc() == Errc::outcome_unknown);
  CHECK_THAT(told.what(), Catch::Contains("the second is silent"));
}
