#pragma once

#include <atomic>
#include <boost/thread/mutex.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "distlock/members.h"
#include "distlock/stores.h"
#include "stores/mirrored/bases.h"
#include "stores/mirrored/fan_out.h"
#include "stores/mirrored/freed_by_all.h"
#include "stores/mirrored/left_claims.h"
#include "stores/mirrored/quorum.h"
#include "stores/mirrored/refused_claims.h"
#include "stores/mirrored/returning.h"
#include "stores/mirrored/votes.h"

// The room src/stores/mirrored/, from the bottom up:
//
//   identity.h               which member of which set a store is: pure
//   bases.h                  from what each member is claimed: pure
//   quorum.h, agreement.h    what the answers of members amount to: pure
//   member_states.h          how the members fare, for people: pure
//   member.h                 one member: its threads, its clock, pings that it has confirmed
//   freed_by_all.h           holds from which a claim may start without a look
//   refused_claims.h         claims that members refused, of which some refuse all
//   fan_out.h                one call to several members at once
//   too_few.h                the failure of a call that too few of them answer
//   votes.h                  the replies to a claim, as votes
//   returning.h              what listings say about a member that comes back: pure
//   mirrored_store.h         the ports; mirrored_claims.cpp, mirrored_set.cpp,
//                            mirrored_repair.cpp, mirrored_founding.cpp, mirrored_refusals.cpp,
//                            mirrored_doubts.cpp, mirrored_gone.cpp and mirrored_mending.cpp are
//                            parts of it
//   opening_member.h         a member that is opened when it is there
//
// How a lock is claimed, on three members with the majority 2:
//
//   look     all at once      the document and ping of each; after them its identity (M6)
//   claim    the first        if it refuses, the claim is over, and no other was touched (M2). If
//                             it shows the same again, the next claim begins with another member
//   claim    the others       at once, with one fence for all (M3)
//   settle   by their votes   2 granted it: held. 2 certainly refused it: freed where it was
//                             granted, and refused. Otherwise unknown: read back later (R8)
//
// Mutexes: those of a Member, its Workers and the Answers to a call guard their own fields. A
// thread that holds one of them takes no other but that of the known returns. None is held during a
// call of a store.
namespace distlock::mirrored {

/// A call of the mirrored store asks its members twice. Each time it waits for two calls of a
/// member: its own, and the look at the identity.
inline constexpr int kCallsInOne = 4;

/// Members that show one identity.
enum class Twins {
  unknown,  ///< One store that was named twice, or a copy: their clocks tell.
  copies,   ///< Copies: the stores were seen to be several.
};

/// N stores as one (M1 to M9): asks the members, and lets quorum.h and agreement.h decide.
class MirroredStore : public Store, private Members {
 public:
  MirroredStore(const std::vector<std::shared_ptr<Store>>& members, std::shared_ptr<Clock> clock,
                const MirrorOptions& options, Twins twins = Twins::unknown);

  std::chrono::milliseconds call_limit() const override { return call_limit_; }
  std::string description() const override;
  Inspection inspect(std::string_view name, Freshness freshness) override;
  std::optional<Carried> carried(std::string_view name) override;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override;
  ReleaseResult release(std::string_view name, const Token& ts) override;
  PingRecord ping(std::string_view process, const PingHealth& health) override;
  void remove_ping(std::string_view process) override;
  std::int64_t forget_pings(std::chrono::milliseconds age) override;
  std::vector<StoredHold> holds(std::string_view process) override;
  Listing list() override;
  Members* members() override { return this; }

 private:
  std::size_t majority() const override { return majority_of(all_.size()); }
  std::vector<MemberPing> pings(std::string_view process) override;
  bool take_left(const Token& ts) override { return left_.take(ts); }
  std::optional<LockRecord> claim_from(std::string_view name, const std::vector<MemberBasis>& bases,
                                       const Claim& claim) override;
  std::vector<Token> repair(std::string_view name, const std::vector<MemberBasis>& bases,
                            const Claim& claim, const std::function<bool()>& still_held) override;
  MemberListings listings() override;
  std::vector<MemberState> states() override;
  bool incomplete() override;
  void mend() override;
  bool readmit(std::size_t number) override;

  static constexpr CallRules kClaim{.kind = CallKind::write};

  /// A claim of members of that set, which ends then.
  struct Sent {
    Token set;
    SteadyTime until;
  };
  struct Candidate {
    std::shared_ptr<Member> member;
    Claim claim;
    ClaimBasis basis;
    std::optional<Identity> life = {};  ///< None yet where the claim is to found a set.
  };

  template <class Answer>
  Replies<Answer> ask_those(const MemberList& asked, const CallRules& rules,
                            const MemberCall<Answer>& call) {
    const auto limit = time_for(rules);
    if (!limit) return Replies<Answer>(all_.size());
    CallRules timed = rules;
    timed.short_of_time = *limit < call_limit_ / 2;
    auto replies = ask<Answer>(asked, all_.size(), options_.drive, *clock_, *limit, timed, call);
    forget_those_of_before(replies);
    return replies;
  }
  /// How long a call of the members may take. Nothing: there is no time for one.
  std::optional<std::chrono::milliseconds> time_for(const CallRules& rules) const;
  /// Takes the identity from replies of members whose place was given anew, as some reply says.
  template <class Answer>
  void forget_those_of_before(Replies<Answer>& replies) const {
    for (const auto& member : all_) {
      auto& identity = replies[member->place.number].identity;
      if (identity && member->is_of_before(*identity)) identity.reset();
    }
  }
  template <class Answer>
  Replies<Answer> ask_all(const CallRules& rules, const MemberCall<Answer>& call) {
    return ask_those<Answer>(all_, rules, call);
  }

  /// The set that a majority of the members says it is of (M6). Errors: `not_applied` if there is
  /// none, `invalid_argument` if one member is there twice. If it is gone `not_applied` for its
  /// longest window, then `store_replaced`.
  Token set();
  void check_not_gone(const Token& set);
  void note_set_is_there();
  [[noreturn]] void refuse_gone_set();
  std::chrono::milliseconds longest_window_of(const Token& set) const;
  bool all_are_empty(const Replies<Inspection>& seen) const;
  bool may_have_majority(const Token& set, const Replies<Inspection>& seen) const;
  std::optional<Token> set_of_majority(const Replies<Inspection>& seen) const;
  Replies<Inspection> look_at_identities();
  Token found(const Replies<Inspection>& seen);
  [[noreturn]] void refuse_no_set(const Replies<Inspection>& seen) const;
  [[noreturn]] void refuse_to_found(const Replies<Inspection>& seen, const Member* used) const;
  [[noreturn]] void refuse_used(const Member& used);
  Candidate identity_to_claim(const std::shared_ptr<Member>& member, const Inspection& seen,
                              const SetTerms& terms) const;
  std::vector<Candidate> identities_to_claim(const Replies<Inspection>& seen,
                                             const SetTerms& terms) const;
  bool each_listing(const std::function<bool(const Listing&)>& is_so,
                    const Member** first_other = nullptr);
  void claim_the_others(const std::vector<Candidate>& to, Replies<ClaimAnswer>& replies);
  bool may_become_a_set(const Replies<Inspection>& seen) const;
  void refuse_malformed_state(std::string_view name,
                              const std::vector<MemberCarries>& members) const;
  /// Why no founding can succeed, if waiting does not help. `first` was asked alone.
  std::optional<Error> denial_in(const Replies<ClaimAnswer>& replies, std::size_t first) const;
  /// It states another set, or another place of `set`.
  [[noreturn]] static void refuse_stranger(const Member& member, const Inspection& look,
                                           const Token& set);
  [[noreturn]] void refuse_to_readmit(const Replies<Inspection>& seen);
  std::optional<Token> claim_identities(const Replies<Inspection>& seen,
                                        std::optional<Error>& denied);
  std::optional<Token> set_of_another_founder();
  std::optional<Token> founded_by(const Token& own, const std::vector<Candidate>& to,
                                  const Replies<ClaimAnswer>& replies);
  void give_back(const std::vector<Candidate>& to, const Replies<ClaimAnswer>& replies);
  void free_identity(const std::shared_ptr<Member>& member, const Token& token);
  void check_founders_have_ended(const Replies<Inspection>& seen) const;
  [[noreturn]] void take_apart(const std::vector<std::pair<std::shared_ptr<Member>, Token>>& parts);
  std::optional<Token> complete_founding(const Replies<Inspection>& seen,
                                         std::optional<Error>& denied);
  std::optional<Token> found_in_place_of(const SetTerms& before, const Replies<Inspection>& seen,
                                         std::optional<Error>& denied);
  void give_back_to(const SetTerms& before, const std::vector<Candidate>& minority);
  std::optional<Token> known_set();

  std::optional<SetTerms> terms(const Replies<Inspection>& seen) const;
  std::optional<Identity> counting_identity(const Replies<Inspection>& seen, std::size_t number,
                                            const Token& set) const;
  bool mend_one(const std::shared_ptr<Member>& member, const Replies<Inspection>& all,
                const SetTerms& terms);
  void mark(const std::shared_ptr<Member>& member, const ClaimBasis& basis, SetTerms terms);
  bool tell_others(const Replies<Inspection>& seen, std::size_t number, const SetTerms& terms,
                   const Returns& news);
  std::optional<Fence> fence_for(Member& returning, const SetTerms& terms,
                                 std::optional<SteadyTime> pinged_since);
  bool take_back(const std::shared_ptr<Member>& member, const ClaimBasis& basis,
                 const SetTerms& terms, Fence above);
  static void tell_of_change(Member& member);
  static void tell_of_locks(Member& member);
  void tell_of_hidden_fences(Member& returning, const KnownFences& fences) const;
  /// To an operator, who mends it.
  [[noreturn]] void refuse_hidden(const Member& returning, const KnownFences& fences) const;
  void tell_if_strange(Member& member, const Token& set) const;
  const Member* twin_of(const Member& member) const;
  bool is_one_store(const Member& one, const Member& twin) const;
  const Member* given_twice() const;
  void check_no_store_is_twice() const;
  [[noreturn]] static void refuse_twice(const Member& member);
  void check_same_members(const std::optional<Token>& known, const Replies<Inspection>& seen) const;
  void check_order(const Replies<Inspection>& seen) const;
  void check_order_beside(const Token& set, const Replies<Inspection>& seen) const;
  Token new_token() const;

  template <class Answer>
  std::vector<Answer> counting(const Replies<Answer>& replies, const Token& set,
                               const CallRules& rules) const;
  /// The answers that count. Errors: `not_applied` if they are fewer than a majority.
  std::vector<Inspection> looks(std::string_view name, Freshness freshness);
  /// Inspection::fence_in_doubt, by the members' looks at that lock.
  std::string fence_in_doubt(std::string_view name, const std::vector<Inspection>& seen) const;
  std::vector<MemberListing> counting_listings();
  Fence fence_of_lost() const;

  /// Errors: `invalid_argument` if the set allows no such window, `not_applied` if members whose
  /// window is not known decide.
  void check_window(const Claim& claim) const;
  std::vector<Candidate> candidates(const std::vector<MemberBasis>& bases, const Claim& claim,
                                    std::chrono::milliseconds left) const;
  /// Of a member whose life is known.
  static MemberBasis basis_on(const Candidate& one);
  std::vector<Candidate> to_claim(std::string_view name, const std::vector<MemberBasis>& bases,
                                  const Claim& claim) const;
  std::optional<LockRecord> claim_until(SteadyTime until, std::string_view name,
                                        const std::vector<MemberBasis>& bases, const Claim& claim);
  bool lives_are_known(const FreedHold& freed, const std::vector<Candidate>& to) const;
  std::optional<LockRecord> claim_from_own_release(std::string_view name, const FromFree& basis,
                                                   const FreedHold& freed, const Claim& claim);
  std::optional<LockRecord> settled(std::string_view name, const Claim& claim, const Sent& sent,
                                    const Replies<ClaimAnswer>& replies);
  std::optional<std::chrono::milliseconds> time_left(const StoreNow& cutoff) const;
  std::chrono::nanoseconds longest_under_way() const;
  void send(std::string_view name, const std::vector<Candidate>& to, Replies<ClaimAnswer>& replies,
            const CallRules& rules = kClaim);
  bool undo(std::string_view name, const Token& ts, SteadyTime until,
            const Replies<ClaimAnswer>& replies);
  std::optional<FreedHold> freed_by_all(std::string_view name, const ClaimBasis& basis);
  Bases look_for(std::string_view name, const ClaimBasis& basis);
  std::optional<Fence> fence_of_claim(const ClaimBasis& basis, const Claim& claim,
                                      const Bases& found) const;

  const MemberList all_;
  const std::shared_ptr<Clock> clock_;
  const MirrorOptions options_;
  const Twins twins_;
  const std::chrono::milliseconds call_limit_;

  boost::mutex set_mutex_;
  // Guarded by `set_mutex_`.
  std::optional<Token> set_;                     // Once known it stays.
  std::chrono::milliseconds longest_window_{0};  // Of the set.
  std::optional<SteadyTime> gone_since_;  // From then on each look has shown that it is gone.

  FreedByAll freed_;
  RefusedClaims refused_;
  LeftClaims left_;
  std::atomic<std::size_t> mended_{0};  // How many calls have mended a member.
};

/// As make_mirrored_store().
std::shared_ptr<Store> open_set(const std::vector<std::shared_ptr<Store>>& members,
                                std::shared_ptr<Clock> clock, const MirrorOptions& options,
                                Twins twins);

}  // namespace distlock::mirrored
