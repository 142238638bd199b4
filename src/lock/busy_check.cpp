#include "lock/busy_check.h"

#include <algorithm>
#include <optional>

#include "distlock/error.h"
#include "protocol/protocol.h"
#include "text.h"

namespace distlock {
namespace {

using Tokens = std::vector<Token>;

bool is_in(const Tokens& all, const Token& ts) {
  return std::find(all.begin(), all.end(), ts) != all.end();
}

// The `ts` of a single store, or of each member. A document that is not there has that of nobody.
Tokens all_ts_of(const Inspection& seen) {
  const auto ts_of = [](const Inspection& one) {
    return one.lock ? one.lock->ts.value_or(Token{}) : Token{};
  };
  if (seen.members.empty()) return {ts_of(seen)};
  Tokens all;
  for (const Inspection& one : seen.members) all.push_back(ts_of(one));
  return all;
}

}  // namespace

void check_busy(const std::string& name, const Inspection& before, const Inspection& after,
                const Tokens& own) {
  const Tokens known = all_ts_of(before);
  const Tokens seen = all_ts_of(after);
  const bool changed = std::any_of(seen.begin(), seen.end(), [&](const Token& ts) {
    return !is_in(known, ts) && !is_in(own, ts);
  });
  const bool taken = after.lock && after.lock->taken();
  if (changed || (taken && !is_in(own, after.lock->ts.value_or(Token{})))) return;
  throw Error(Errc::not_applied,
              "lock \"" + escaped(name) + "\" is free, but the store refused " +
                  std::to_string(protocol::kClaimRoundsMax) +
                  " claims of it, perhaps because they came to it too late; nothing is held");
}

}  // namespace distlock
