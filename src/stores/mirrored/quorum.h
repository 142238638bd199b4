#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "distlock/store.h"

// The decisions of a majority (M1 to M4). Pure.
namespace distlock::mirrored {

inline constexpr std::size_t kMembersMost = 9;

/// Errors: `invalid_argument` if `members` is even, 0 or too many.
void check_number(std::size_t members);
/// How many of `members`, which is odd, are a majority.
std::size_t majority_of(std::size_t members);

/// No claim comes near it. It is an outsider's where it is a minority's.
inline constexpr Fence kGreatFence = Fence{1} << 62U;

/// The answer of one member to a claim.
enum class Vote {
  granted,
  refused,  ///< Certainly not granted. Also: never asked, or the member does not count.
  unknown,  ///< Perhaps granted, now or later.
};

enum class Settled { held, not_held, unknown };

/// Settles a claim, by one vote of each member.
Settled settle_claim(const std::vector<Vote>& votes);

/// The answer of one member to a release.
struct MemberReleased {
  std::optional<ReleaseResult> answer;  ///< Nothing: it gave none, or does not count.
  bool may_have_freed = false;          ///< Of one that gave no answer.
  bool granted = false;                 ///< It is known to have carried the hold.
};

/// Settles a release, by what each member says. Gives nothing if fewer than a majority answered.
/// Nobody can lock a majority behind a release while a majority still carries the hold. So where
/// one that carried it answers `not_ours`, somebody else has ended the hold.
std::optional<ReleaseResult> settle_release(const std::vector<MemberReleased>& members);

/// The hold that a document carries, on one member.
struct MemberCarries {
  bool answered = false;
  std::optional<Carried> carried;  ///< Nothing: no document.
};

/// The hold that a majority carries. `undecided`: the members that gave no answer could make one.
struct CarriedByMajority {
  bool undecided = false;
  std::optional<Carried> carried;
};
CarriedByMajority settle_carried(const std::vector<MemberCarries>& members);

/// Which of these fences, one a member, are great; none where no majority of others would be left.
/// `left_out`: how many of the members are left out for another reason.
std::vector<std::size_t> great_of_minority(const std::vector<Fence>& fences, std::size_t left_out,
                                           std::size_t majority);

/// The fences that looks at a lock show, in their order.
std::vector<Fence> fences_of(const std::vector<Inspection>& seen);

/// The first of these fences that is great, where fewer than a majority of members show one, and
/// fewer than a majority show less. `fences`: one of each member that shows its own.
std::optional<std::size_t> great_in_doubt(const std::vector<Fence>& fences, std::size_t majority);

/// Takes those with a great fence out of the looks at a lock, where a majority of others is left.
/// Gives these members: no hold of the others has a fence that they would grant.
std::vector<Token> leave_out_great_fences(std::vector<Inspection>& seen, std::size_t majority);

/// The looks at a lock, with Inspection::over: a majority of them shows that it does not carry the
/// hold and grants no claim with its fence any more.
std::vector<Inspection> with_ends_of_holds(std::vector<Inspection> seen, std::size_t majority);

}  // namespace distlock::mirrored
