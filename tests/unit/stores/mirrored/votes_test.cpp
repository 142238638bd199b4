// The replies to a claim, as votes (M2, M3).
#include "stores/mirrored/votes.h"

#include <catch2/catch.hpp>

#include "support/thrown.h"

using namespace distlock;
using namespace distlock::mirrored;
using namespace distlock::testing;

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

TEST_CASE("a grant whose member cannot be read is of unknown outcome, for the reason of that",
          "[mirrored][M2][R8]") {
  Replies<ClaimAnswer> replies{{}, grant_of_member(kSet, 0), {}};
  replies[1].failure = Error(Errc::not_applied, "its identity is silent");
  const Error told = unknown_outcome(replies);
  CHECK(told.errc() == Errc::outcome_unknown);
  CHECK_THAT(told.what(), Catch::StartsWith("its identity is silent"));
  replies[1].failure.reset();
  CHECK(unknown_outcome(replies).errc() == Errc::outcome_unknown);
  CHECK_THAT(unknown_outcome(replies).what(), Catch::Contains("was emptied or exchanged"));
}

TEST_CASE("a claim fails for good only if a majority of members refuses it for good",
          "[mirrored][M2][R8]") {
  Replies<ClaimAnswer> replies(3);
  CHECK_NOTHROW(throw_failure_in(replies));
  replies[0].failure = Error(Errc::permission_denied, "the first forbids");
  replies[2].failure = Error(Errc::not_applied, "the third is away");
  CHECK(thrown_by([&] { throw_failure_in(replies); }) == Errc::not_applied);
  CHECK_THROWS_WITH(throw_failure_in(replies), Catch::Contains("; the first forbids") &&
                                                   Catch::Contains("; the third is away"));
  replies[1].failure = Error(Errc::permission_denied, "the second forbids");
  CHECK(thrown_by([&] { throw_failure_in(replies); }) == Errc::permission_denied);
  CHECK_THROWS_WITH(throw_failure_in(replies), Catch::StartsWith("the first forbids"));
}

TEST_CASE("a claim without an answer is gone once its member had it and freed it",
          "[mirrored][M2]") {
  const Reply<ClaimAnswer> granted = grant_of_member(kSet, 0);
  const Reply<ClaimAnswer> silent;
  const auto freed_with = [](ReleaseResult result) {
    Reply<ReleaseResult> reply;
    reply.answer = result;
    return reply;
  };
  for (const ReleaseResult result : {ReleaseResult::freed, ReleaseResult::already_free}) {
    CHECK(is_gone(silent, freed_with(result)));
    CHECK(is_gone(granted, freed_with(result)));
  }
  CHECK(is_gone(granted, freed_with(ReleaseResult::not_ours)));
  CHECK_FALSE(is_gone(silent, freed_with(ReleaseResult::not_ours)));
  CHECK_FALSE(is_gone(granted, Reply<ReleaseResult>{}));
}
