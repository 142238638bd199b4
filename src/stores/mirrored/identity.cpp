#include "stores/mirrored/identity.h"

#include <algorithm>
#include <string>

#include "distlock/error.h"

namespace distlock::mirrored {
namespace {

constexpr std::string_view kWhy = "says which member of which set this store is; leave it";
constexpr std::string_view kWhyKeptOut =
    "this store lost its data, and takes part again later; leave it";

std::string in_words(const Place& place) {
  return "member " + std::to_string(place.number + 1) + " of " + std::to_string(place.of);
}

// Exactly so: a marker must not be taken for an identity.
std::optional<Identity> stated_by(const Inspection& seen, std::string_view who) {
  if (!has_identity(seen) || seen.lock->who != who) return std::nullopt;
  const std::string_view process = seen.lock->process;
  const auto set = token_from_hex(process.substr(kIdentityProcess.size()));
  if (!set) return std::nullopt;
  return Identity{*seen.lock->ts, *set, seen.lock->fence - 1,
                  std::min(seen.lock->takeover_after.value_or(kWindowMost), kWindowMost),
                  returns_in(seen.lock->why)};
}

std::string kept_out_in_words(const Place& place) { return in_words(place) + ", kept out"; }

}  // namespace

std::optional<Identity> identity_in(const Inspection& seen, const Place& place) {
  return stated_by(seen, in_words(place));
}

std::optional<Identity> marker_in(const Inspection& seen, const Place& place) {
  return stated_by(seen, kept_out_in_words(place));
}

std::optional<std::size_t> place_stated(const Inspection& seen, std::size_t of, const Token& set) {
  for (std::size_t number = 0; number < of; ++number) {
    const auto identity = identity_in(seen, {number, of});
    if (identity) return identity->set == set ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

bool has_identity(const Inspection& seen) { return seen.lock && shows_identity(*seen.lock); }

bool is_changed_identity(const Inspection& seen) {
  return seen.lock && seen.lock->taken() && !has_identity(seen);
}

bool lacks_identity(const Inspection& seen, const Place& place) {
  return !has_identity(seen) || marker_in(seen, place);
}

ClaimBasis basis_of(const Inspection& seen) {
  if (!seen.lock) return FromAbsent{};
  // A hold of anybody else's is no identity, and stays.
  if (!has_identity(seen)) return FromFree{};
  return FromHold{*seen.lock->ts, seen.lock->when};
}

Claim identity_claim(const Token& token, const SetTerms& terms, const Place& place,
                     const StoreNow& cutoff) {
  return {.process = std::string(kIdentityProcess) + to_hex(terms.set),
          .who = in_words(place),
          .why = with_returns(kWhy, terms.returns),
          .ts = token,
          .takeover_after = terms.longest_takeover,
          .cutoff = cutoff};
}

Claim marker_claim(const Token& token, const SetTerms& terms, const Place& place,
                   const StoreNow& cutoff) {
  Claim claim = identity_claim(token, terms, place, cutoff);
  claim.who = kept_out_in_words(place);
  claim.why = with_returns(kWhyKeptOut, terms.returns);
  return claim;
}

Claim news_claim(const Inspection& seen, const Returns& returns, const StoreNow& cutoff) {
  const LockRecord& identity = *seen.lock;
  return {.process = identity.process,
          .who = identity.who,
          .why = with_returns(kWhy, merged(returns_in(identity.why), returns)),
          .ts = *identity.ts,
          .takeover_after = identity.takeover_after.value_or(kWindowMost),
          .cutoff = cutoff,
          .fence = identity.fence};
}

void check_not_identity(std::string_view name) {
  if (name != kIdentityName) return;
  throw Error(Errc::invalid_argument, "a lock of a mirrored store must not be called \"" +
                                          std::string(name) + "\": choose another name");
}

}  // namespace distlock::mirrored
