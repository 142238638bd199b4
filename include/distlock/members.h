#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "distlock/export.h"
#include "distlock/record.h"
#include "distlock/store.h"

namespace distlock {

/// The last ping of one process that one member has confirmed.
struct MemberPing {
  Token member;
  StoreNow stamped;  ///< By the member's clock.
  SteadyTime sent;   ///< By this process's clock, as `received`.
  SteadyTime received;
  /// False: the member's place has been given anew since (M6), so that it protects nothing.
  bool counts = true;
  /// Holds that the member has lost had no greater fence, as it says itself (M6). It counts for
  /// none with that fence or a lesser one.
  Fence fence_of_lost = 0;
};

/// The basis of a claim on one member.
struct MemberBasis {
  Token member;
  ClaimBasis basis;
};

/// The listing of one member, by its own clock.
struct MemberListing {
  Token member;
  Listing listing;
  Fence fence_of_lost = 0;  ///< As in Inspection.
  /// The locks whose hold on this member no majority can carry any more (M4), in order.
  std::vector<std::string> over = {};
};

/// One look at all locks: as a whole, and member by member.
struct MemberListings {
  Listing all;  ///< As Store::list().
  std::vector<MemberListing> of_members;
};

/// How one member fares, for people.
struct MemberState {
  enum class Condition {
    counts,    ///< It answers, and is of the set at its place (M6).
    away,      ///< It does not answer, or cannot be used: `failure` says why.
    empty,     ///< It has no identity, being new, emptied or exchanged; or one of before (M6).
    kept_out,  ///< It has none, and takes part again when the longest window has passed (M6).
    strange,   ///< It is of another set or place (M7), a copy, or its identity is malformed.
  };
  Condition condition = Condition::away;
  std::string description;  ///< Where it is, without secrets.
  std::optional<Error> failure;
  /// Another fault, and how to mend it. Mostly empty.
  std::string problem;
  Token member;            ///< Of one that counts.
  std::int64_t lacks = 0;  ///< Of one that counts: holds of a majority that it does not carry.
  std::optional<std::chrono::milliseconds> ahead;  ///< Its clock, of the middle one of all clocks.
  /// Of one that is kept out: about how long still, if a process that pings goes on for so long. By
  /// the member's own clock, and for people alone. Nothing where `problem` names a document of
  /// another member that keeps it out (M6).
  std::optional<std::chrono::milliseconds> kept_out_for;
};

/// The members of a mirrored store (M1 to M9). A part of the store's port. A member is named by the
/// token of its identity, which is lost with the member's data.
///
/// Errors: as Store. Threads: all functions may be called concurrently.
class DISTLOCK_EXPORT Members {
 public:
  virtual ~Members() = default;

  /// How many members make a hold.
  virtual std::size_t majority() const = 0;

  /// The last confirmed ping of that process on each member that has one. Makes no store call.
  virtual std::vector<MemberPing> pings(std::string_view process) = 0;

  /// As Store::claim(), on these members alone, each from its own basis. The result lists the
  /// members that granted it: at least a majority. `claim.fence` must not be 0.
  virtual std::optional<LockRecord> claim_from(std::string_view name,
                                               const std::vector<MemberBasis>& bases,
                                               const Claim& claim) = 0;

  /// Whether a claim with this `ts` was refused, and a member that gave no answer may carry it all
  /// the same. Says so once, right after the claim. Such a `ts` has to be released. Makes no store
  /// call.
  virtual bool take_left(const Token& ts) = 0;

  /// Claims a hold that is valid on members that lack it, each from its own basis (M9), at once.
  /// `claim` is the hold's, with its `ts` and its fence; its cutoff is not looked at. The result
  /// names the members that certainly granted it.
  ///
  /// From before `still_held` is called, releases of that `ts` reckon with these claims. If it
  /// gives false, nothing is sent. It must not throw, and is called with no mutex held.
  virtual std::vector<Token> repair(std::string_view name, const std::vector<MemberBasis>& bases,
                                    const Claim& claim,
                                    const std::function<bool()>& still_held) = 0;

  /// As Store::list(), and that of each member that counts: at least a majority. A member's
  /// document that a look leaves out (M3) is a problem in its listing.
  virtual MemberListings listings() = 0;

  /// How each member fares, in the order in which they were given. Founds no set.
  virtual std::vector<MemberState> states() = 0;

  /// Whether mend() has anything to do, by the members' last answers. Makes no store call.
  virtual bool incomplete() = 0;

  /// One step towards a whole set (M6): marks a member without an identity as kept out. Or takes it
  /// back, when the longest window has passed since this process saw the mark. To be called again
  /// and again. Does nothing where no majority counts.
  virtual void mend() = 0;

  /// Takes a member without an identity back at once: for operators, who know that no process has a
  /// hold that counted on the data it lost. `number` is its place, from 0 on. False: it counts
  /// already. Takes up to two call limits.
  /// Errors: also `invalid_argument` if there is no such member, or it is of another set or place;
  /// `not_applied` if no majority counts, if it carries locks, or if somebody else changed it.
  virtual bool readmit(std::size_t number) = 0;
};

}  // namespace distlock
