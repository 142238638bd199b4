#include "lock/busy_check.h"

#include <algorithm>
#include <map>

#include "distlock/error.h"
#include "protocol/protocol.h"
#include "text.h"

namespace distlock {
namespace {

using Tokens = std::vector<Token>;

bool is_in(const Tokens& all, const Token& ts) {
  return std::find(all.begin(), all.end(), ts) != all.end();
}

// The `ts` of a single store, or of each member, by member. A document that is not there has that
// of nobody.
std::map<Token, Token> all_ts_of(const Inspection& seen) {
  const auto ts_of = [](const Inspection& one) {
    return one.lock ? one.lock->ts.value_or(Token{}) : Token{};
  };
  if (seen.members.empty()) return {{Token{}, ts_of(seen)}};
  std::map<Token, Token> all;
  for (const Inspection& one : seen.members) all.emplace(one.member, ts_of(one));
  return all;
}

// Whether a member that was seen twice has a `ts` by now that none had, and that is none of `own`.
// A member that was away may show what it has had for long.
bool changed_by_another(const Inspection& before, const Inspection& after, const Tokens& own) {
  const auto known = all_ts_of(before);
  const auto is_known = [&](const Token& ts) {
    return std::any_of(known.begin(), known.end(),
                       [&](const auto& one) { return one.second == ts; });
  };
  const auto seen = all_ts_of(after);
  return std::any_of(seen.begin(), seen.end(), [&](const auto& one) {
    return known.contains(one.first) && !is_known(one.second) && !is_in(own, one.second);
  });
}

}  // namespace

void check_not_own(const std::string& name, const Inspection& seen, const Tokens& own,
                   const Members* members) {
  // A minority may show a claim that is about to be undone.
  if (members != nullptr && seen.lock->members.size() < members->majority()) return;
  if (!is_in(own, seen.lock->ts.value_or(Token{}))) return;
  throw Error(Errc::outcome_unknown,
              "lock \"" + escaped(name) +
                  "\" has been claimed by a request that came too late for an answer; the pinger "
                  "frees it");
}

void check_busy(const std::string& name, const Inspection& before, const Inspection& after,
                const Tokens& own) {
  const bool taken = after.lock && after.lock->taken();
  if (changed_by_another(before, after, own) ||
      (taken && !is_in(own, after.lock->ts.value_or(Token{}))))
    return;
  throw Error(Errc::not_applied,
              "lock \"" + escaped(name) + "\" is free, but the store refused " +
                  std::to_string(protocol::kClaimRoundsMax) +
                  " claims of it, perhaps because they came to it too late; nothing is held");
}

}  // namespace distlock
