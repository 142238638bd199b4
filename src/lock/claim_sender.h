#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "distlock/error.h"
#include "distlock/members.h"
#include "limit.h"
#include "pinger/session.h"

namespace distlock {

/// The basis of a claim. On a mirrored store `bases` has that on each member; if it is empty,
/// `basis` counts for all. `fence`: that of the hold; 0 lets the store choose it.
struct ClaimFrom {
  ClaimBasis basis = FromAbsent{};
  std::vector<MemberBasis> bases = {};
  Fence fence = 0;
};

/// Sends the claims of one lock and finds out what came of them: a claim is sent once, read back if
/// its reply was lost, and never forgotten while it may still take effect (R8). Knows nothing of
/// the state of the lock object.
class ClaimSender {
 public:
  ClaimSender(Session& session, const std::string& name, const LockOptions& options)
      : session_(session), name_(name), options_(options) {}

  /// The claim that is sent now, for so many fences (R21). Only after Session::ensure_pinged().
  Claim claim_with(const Token& ts, std::string_view why, Fence fences = 1) const;

  struct Answer {
    std::optional<LockRecord> hold;
    /// Set where the outcome was unknown and turned out to be that nothing is held.
    std::optional<Error> failure;
  };
  /// Looks for no outcome where `limit` is over. Errors: those of Store::claim(). After
  /// `outcome_unknown`, and after an exception that is no Error, the claim is a pending release.
  Answer send(const ClaimFrom& from, Claim claim, const Limit& limit);

  /// A call of the program begins, which makes several requests perhaps.
  void begin_call() { unsettled_ = false; }
  /// Something that it asked for may be in the store, or come there, until the pinger has freed it.
  void note_unsettled() { unsettled_ = true; }
  bool unsettled() const { return unsettled_; }

  /// Has the pinger free the hold that `ts` may have got, by a call that began at `sent`.
  void leave_pending(const Token& ts, SteadyTime sent) noexcept;
  /// The same for a ticket, which may also have got a place in line.
  void leave_ticket_pending(const Token& ticket, SteadyTime sent) noexcept;

 private:
  /// The certain result of a claim, if there is one.
  enum class Fate { held, not_held, uncertain };
  struct ReadBack {
    Fate fate = Fate::uncertain;
    std::optional<LockRecord> hold;
  };
  struct PendingUnlessCertain;

  std::optional<LockRecord> resolve(const Claim& claim, SteadyTime sent, const Error& unknown,
                                    const Limit& limit);
  ReadBack read_back(const Claim& claim);
  std::optional<LockRecord> claim(const ClaimFrom& from, const Claim& claim);
  bool may_be_left(const Token& refused) const;

  Session& session_;
  const std::string& name_;
  const LockOptions& options_;
  bool unsettled_ = false;
};

}  // namespace distlock
