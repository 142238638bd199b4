#pragma once

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "distlock/error.h"
#include "distlock/stores.h"
#include "failure.h"
#include "stores/effect.h"
#include "stores/mirrored/member.h"
#include "stores/mirrored/quorum.h"

// One call of several members at once (M2).
namespace distlock::mirrored {

/// The outcome of a call to one member. Without answer and failure, the member was not asked.
template <class Answer>
struct Reply {
  std::optional<Answer> answer;
  std::optional<Error> failure;
  std::optional<Identity> identity;  ///< As it was after the answer.
};

template <class Answer>
using Replies = std::vector<Reply<Answer>>;

/// Whether that is the answer of a member of the set, by its identity.
template <class Answer>
bool counts(const Reply<Answer>& reply, const Token& set) {
  return reply.answer && reply.identity && reply.identity->set == set;
}

using MemberList = std::vector<std::shared_ptr<Member>>;

/// How a call of several members is made.
struct CallRules {
  CallKind kind = CallKind::read;
  bool with_identity = true;  ///< Read after the answer.
  std::size_t answered = 0;   ///< Answers that the caller has already, of other members.
  /// Otherwise each answer counts by itself, as that to a repair or an undo.
  bool for_majority = true;
  /// Answers of members of another set, or of none, are not waited for as part of a majority.
  std::optional<Token> set = {};
  /// The whole ends then. Where no time is left for a call of a member, none is asked.
  std::optional<SteadyTime> until = {};
  bool short_of_time = false;  ///< Less is left than the members may take.

  CallRules of_set(const Token& one) const {
    CallRules rules = *this;
    rules.set = one;
    return rules;
  }
  CallRules ending(SteadyTime then) const {
    CallRules rules = *this;
    rules.until = then;
    return rules;
  }
  Effect effect() const { return kind == CallKind::read ? Effect::reads : Effect::writes; }
  /// How many answers are waited for, whatever the members' last ones were.
  std::size_t wanted_of(std::size_t asked, std::size_t all) const {
    const std::size_t majority = majority_of(all);
    return for_majority ? std::min(majority - std::min(answered, majority), asked) : 0;
  }
};

/// Whether a reply is that of a member of the set: by its identity, where the call reads one. Else
/// an answer that may be nothing is such a one if it is something.
template <class Answer>
bool answers_of_set(const Reply<Answer>& reply, const Token& set, const CallRules& rules) {
  if (!reply.answer) return false;
  if (rules.with_identity) return counts(reply, set);
  if constexpr (requires { reply.answer->has_value(); }) return reply.answer->has_value();
  return true;
}

/// Collects the answers to one call. Shared with the members' threads, which may outlast the call.
template <class Answer>
class Answers {
 public:
  /// Calls that nobody waits for begin until then.
  Answers(const MemberList& asked, std::size_t all, const CallRules& rules, SteadyTime until)
      : rules_(rules),
        wanted_(rules.wanted_of(asked.size(), all)),
        until_(until),
        replies_(all),
        awaited_(all, false),
        begun_(all, false),
        unwatched_(all, false),
        open_(asked.size()) {
    for (const auto& member : asked) {
      const std::size_t number = member->place.number;
      awaited_[number] = member->answers(rules.kind);
      unwatched_[number] = !rules.for_majority && !awaited_[number];
    }
    if (are_enough()) enough_.request_stop();
  }

  /// False if the caller has stopped waiting: then the member need not be called.
  bool begin(std::size_t number, SteadyTime now) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    if (closed_) return unwatched_[number] && now <= until_;
    begun_[number] = true;
    return true;
  }
  void give(std::size_t number, Reply<Answer> reply) {
    {
      const boost::lock_guard<boost::mutex> lock(mutex_);
      if (closed_) return;
      if (is_of_set(reply)) ++answered_;
      replies_[number] = std::move(reply);
      awaited_[number] = false;
      --open_;
      if (!are_enough()) return;
    }
    enough_.request_stop();
  }
  std::stop_token enough() const { return enough_.get_token(); }
  /// Gives the answers so far. A member that was waited for in vain counts as away from now on, if
  /// it had all the time that a call may take.
  Replies<Answer> close(const MemberList& asked) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    closed_ = true;
    for (const auto& member : asked) {
      const std::size_t number = member->place.number;
      Reply<Answer>& reply = replies_[number];
      if (reply.answer || reply.failure) continue;
      const bool begun = begun_[number];
      if (begun && awaited_[number] && !rules_.short_of_time) member->note_silence(rules_.kind);
      const bool sent = begun || unwatched_[number];
      const bool perhaps = sent && rules_.effect() == Effect::writes;
      reply.failure.emplace(perhaps ? Errc::outcome_unknown : Errc::not_applied,
                            "no answer in time from " + member->store->description());
    }
    return std::move(replies_);
  }

 private:
  bool is_of_set(const Reply<Answer>& reply) const {
    return rules_.set ? answers_of_set(reply, *rules_.set, rules_) : reply.answer.has_value();
  }
  // With the mutex.
  bool are_enough() const {
    const bool none_awaited =
        std::none_of(awaited_.begin(), awaited_.end(), [](bool awaited) { return awaited; });
    const bool in_vain = answered_ + open_ < wanted_;
    return open_ == 0 || (none_awaited && (in_vain || answered_ >= wanted_));
  }

  const CallRules rules_;
  const std::size_t wanted_;
  const SteadyTime until_;
  boost::mutex mutex_;
  // Guarded by `mutex_`.
  Replies<Answer> replies_;
  std::vector<bool> awaited_;  // of members that answered the last call like this one
  std::vector<bool> begun_;
  // No answer is waited for. The call is made all the same: it shows when the member writes again.
  std::vector<bool> unwatched_;
  std::size_t open_;
  std::size_t answered_ = 0;
  bool closed_ = false;

  std::stop_source enough_;  // A latch: a stop is requested when no more replies are awaited.
};

template <class Answer>
using MemberCall = std::function<Answer(Member&)>;

/// The failure of a call that threw anything but an Error.
inline Error strange_failure(const CallRules& rules, const std::string& what) {
  return {rules.effect() == Effect::writes ? Errc::outcome_unknown : Errc::not_applied, what};
}
/// The same where memory is short: made before the call.
inline Error want_of_memory(const CallRules& rules) {
  return strange_failure(rules, "no memory for the answer of a member of a mirrored store");
}

/// Why a member was not asked, of the exception that is being handled.
inline Error never_sent(const Member& member, const Error& no_memory) noexcept {
  try {
    return {Errc::not_applied,
            "no call of " + member.store->description() + ": " + current_failure().what};
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

// A failure of one member: the others may go on.
inline Error of_one_member(const Error& error, const Error& no_memory) noexcept {
  if (error.errc() != Errc::store_replaced) return error;
  try {
    return {Errc::not_applied, error.what()};
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}

template <class Answer>
Reply<Answer> reply_of(Member& member, const CallRules& rules, const MemberCall<Answer>& call,
                       const Error& no_memory) noexcept {
  Reply<Answer> reply;
  const SteadyTime asked = member.now();
  try {
    reply.answer = call(member);
    if (rules.with_identity) reply.identity = member.identity_after(asked);
  } catch (const Error& error) {
    reply.failure = of_one_member(error, no_memory);
  } catch (...) {
    try {
      reply.failure = strange_failure(rules, current_failure().what);
    } catch (const std::bad_alloc&) {
      reply.failure = no_memory;
    }
  }
  member.note_reply(rules.kind, reply.failure, asked);
  return reply;
}

/// Calls each of `asked` once. Waits by `clock` for the members that answered their last call of
/// that kind, and for a majority of `all` members, for `limit` at most. Other calls go on in the
/// background.
template <class Answer>
Replies<Answer> ask(const MemberList& asked, std::size_t all, MirrorDrive drive, Clock& clock,
                    std::chrono::milliseconds limit, const CallRules& rules,
                    const MemberCall<Answer>& call) {
  const Error no_memory = want_of_memory(rules);
  if (drive == MirrorDrive::caller) {
    Replies<Answer> replies(all);
    for (const auto& member : asked) {
      replies[member->place.number] = reply_of(*member, rules, call, no_memory);
    }
    return replies;
  }
  const SteadyTime until = clock.steady_now() + limit;
  const auto answers = std::make_shared<Answers<Answer>>(asked, all, rules, until);
  for (const auto& member : asked) {
    const std::size_t number = member->place.number;
    // The member owns the thread that runs the job. So the job must not own the member. It takes
    // memory, and other members may have been asked by then: their answers are waited for.
    try {
      member->workers(rules.kind)
          .add([answers, one = member.get(), number, rules, call, no_memory] {
            if (answers->begin(number, one->now()))
              answers->give(number, reply_of(*one, rules, call, no_memory));
          });
    } catch (...) {
      answers->give(number, {std::nullopt, never_sent(*member, no_memory), std::nullopt});
    }
  }
  clock.wait_until(until, answers->enough());
  return answers->close(asked);
}

}  // namespace distlock::mirrored
