#include "stores/mirrored/identity.h"

#include <string>

#include "distlock/error.h"

namespace distlock::mirrored {
namespace {

constexpr std::string_view kProcess = "mirrored store ";

std::string in_words(const Place& place) {
  return "member " + std::to_string(place.number + 1) + " of " + std::to_string(place.of);
}

}  // namespace

std::optional<Identity> identity_in(const Inspection& seen, const Place& place) {
  if (!has_identity(seen) || seen.lock->who != in_words(place)) return std::nullopt;
  const std::string_view process = seen.lock->process;
  const auto set = token_from_hex(process.substr(kProcess.size()));
  if (!set) return std::nullopt;
  return Identity{*seen.lock->ts, *set, seen.lock->fence - 1};
}

bool has_identity(const Inspection& seen) {
  return seen.lock && seen.lock->taken() && seen.lock->process.starts_with(kProcess);
}

Claim identity_claim(const Token& token, const Token& set, const Place& place,
                     const StoreNow& cutoff) {
  return {.process = std::string(kProcess) + to_hex(set),
          .who = in_words(place),
          .why = "says which member of which set this store is; leave it",
          .ts = token,
          .takeover_after = std::chrono::hours{24 * 365},
          .cutoff = cutoff};
}

std::string clock_name(const Token& member, std::string_view clock) {
  return to_hex(member) + ' ' + std::string(clock);
}

void check_not_identity(std::string_view name) {
  if (name != kIdentityName) return;
  throw Error(Errc::invalid_argument, "a lock of a mirrored store must not be called \"" +
                                          std::string(name) + "\": choose another name");
}

}  // namespace distlock::mirrored
