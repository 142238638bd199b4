#pragma once

#include <algorithm>
#include <string>

#include "failure.h"
#include "stores/mirrored/fan_out.h"

// The failure of a call that too few members answer (M2).
namespace distlock::mirrored {

// A write that one member has done, or may have done, is of unknown outcome, whatever the others
// say of it.
template <class Answer>
bool may_be_applied(const Replies<Answer>& replies, const CallRules& rules) {
  return rules.effect() == Effect::writes &&
         std::any_of(replies.begin(), replies.end(), [](const auto& reply) {
           return reply.answer || (reply.failure && reply.failure->errc() == Errc::outcome_unknown);
         });
}

// An answer of a member that is none of the set.
template <class Answer>
bool is_strange(const Reply<Answer>& reply, const Token& set, const CallRules& rules) {
  return reply.answer && !answers_of_set(reply, set, rules);
}

// Whether waiting may help: those that count, and those that are away, could be a majority.
template <class Answer>
bool could_be_enough(const Replies<Answer>& replies, const Token& set, const CallRules& rules) {
  const auto could = std::count_if(replies.begin(), replies.end(), [&](const auto& reply) {
    return reply.failure ? may_pass(*reply.failure)
                         : reply.answer && !is_strange(reply, set, rules);
  });
  return static_cast<std::size_t>(could) >= majority_of(replies.size());
}

// Throws why too few members count. Where waiting does not help, a malformed document or another
// fault comes before members that are away.
template <class Answer>
[[noreturn]] void throw_too_few(const MemberList& all, const Replies<Answer>& replies,
                                const Token& set, Errc otherwise, const CallRules& rules = {}) {
  const bool applied = may_be_applied(replies, rules);
  const bool waits = applied || could_be_enough(replies, set, rules);
  std::string why;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const Reply<Answer>& reply = replies[i];
    if (!waits && reply.failure && !may_pass(*reply.failure)) throw Error(*reply.failure);
    if (reply.failure) why += std::string("; ") + reply.failure->what();
    if (!is_strange(reply, set, rules)) continue;
    why += "; " + all[i]->store->description() + " is not one of this set, or is empty";
  }
  throw Error(applied ? Errc::outcome_unknown : otherwise,
              "too few of the " + std::to_string(replies.size()) +
                  " members of the mirrored store answer and count" + why);
}

}  // namespace distlock::mirrored
