#pragma once

#include <boost/thread/mutex.hpp>
#include <memory>
#include <string>
#include <vector>

#include "distlock/members.h"
#include "distlock/stores.h"
#include "stores/mirrored/fan_out.h"
#include "stores/mirrored/quorum.h"

namespace distlock::mirrored {

/// N stores as one (M1 to M8). It asks; quorum.h and agreement.h decide.
class MirroredStore : public Store, private Members {
 public:
  MirroredStore(const std::vector<std::shared_ptr<Store>>& members, std::shared_ptr<Clock> clock,
                const MirrorOptions& options);

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
  std::optional<LockRecord> claim_from(std::string_view name, const std::vector<MemberBasis>& bases,
                                       const Claim& claim) override;

  template <class Answer>
  Replies<Answer> ask_those(const Those& asked, const Order& order,
                            const MemberCall<Answer>& call) {
    return ask<Answer>(asked, all_.size(), options_.drive, call_limit_ / 2, order, call);
  }
  template <class Answer>
  Replies<Answer> ask_all(const Order& order, const MemberCall<Answer>& call) {
    return ask_those<Answer>(all_, order, call);
  }

  /// The set that a majority of the members says it is of (M6). Errors: `not_applied` if there is
  /// none, `invalid_argument` if one member is there twice.
  Token set();
  std::optional<Token> set_of_majority(const Replies<Inspection>& seen) const;
  Token found(const Replies<Inspection>& seen);
  const Member* given_twice() const;
  [[noreturn]] static void refuse_twice(const Member& member);
  void check_order(const Replies<Inspection>& seen) const;
  Token new_token() const;

  /// Whether the answer of a member counts.
  template <class Answer>
  bool counts(const Reply<Answer>& reply, const Token& set) const {
    return reply.answer && reply.identity && reply.identity->set == set;
  }
  template <class Answer>
  std::vector<Answer> counting(const Replies<Answer>& replies, const Token& set) const;
  std::vector<Inspection> looks(std::string_view name, Freshness freshness,
                                Replies<Inspection>& replies);

  struct Candidate {
    std::shared_ptr<Member> member;
    Claim claim;
    ClaimBasis basis;
  };
  std::vector<Candidate> candidates(const std::vector<MemberBasis>& bases,
                                    const Claim& claim) const;
  std::optional<std::chrono::milliseconds> time_left(const StoreNow& cutoff) const;
  void send(std::string_view name, const std::vector<Candidate>& to,
            Replies<std::optional<LockRecord>>& replies);
  bool undo(std::string_view name, const Token& ts,
            const Replies<std::optional<LockRecord>>& replies);

  const Those all_;
  const std::shared_ptr<Clock> clock_;
  const MirrorOptions options_;
  const std::chrono::milliseconds call_limit_;

  boost::mutex set_mutex_;
  std::optional<Token> set_;  // Once known it stays.
};

}  // namespace distlock::mirrored
