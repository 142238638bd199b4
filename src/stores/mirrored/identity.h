#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "clock_name.h"
#include "distlock/store.h"
#include "identity_name.h"
#include "stores/mirrored/returns.h"

// A member's identity (M6): says of which set it is, and at which place. It is a taken document of
// `locks` under a reserved name, and lasts as long as the member's data. Its token is never used
// again. The document of a member that lost its data is a marker at first: it is kept out. Pure.
namespace distlock::mirrored {

using distlock::kIdentityName;

/// The longest window that a set may have, and the one of a set that states none.
inline constexpr std::chrono::milliseconds kWindowMost = std::chrono::hours{24 * 365};

/// The place of a member among those that a process was given.
struct Place {
  std::size_t number = 0;  ///< From 0 on.
  std::size_t of = 0;
};

struct Identity {
  Token token;  ///< New each time that the member becomes one of a set.
  Token set;
  /// Holds that counted on what the member has lost had no greater one. The document's fence is one
  /// more.
  Fence fence = 0;
  /// No hold of the set has a longer window. So long a member is kept out that lost its data.
  std::chrono::milliseconds longest_takeover{};
  /// The numbers of the set's places when this was written.
  Returns returns;
};

/// The identity that its document states. Nothing if there is none, or that of another place.
std::optional<Identity> identity_in(const Inspection& seen, const Place& place);

/// The same of a member that is kept out of its set: it is no identity yet, and counts for nobody.
std::optional<Identity> marker_in(const Inspection& seen, const Place& place);

/// The number of the place, among `of`, that its document states as one of `set`. Nothing if it
/// states no such place.
std::optional<std::size_t> place_stated(const Inspection& seen, std::size_t of, const Token& set);

/// Whether the member says that it is one of some set, or kept out of it, at whatever place.
bool has_identity(const Inspection& seen);

/// Whether it is new, was emptied, or is kept out at this place.
bool lacks_identity(const Inspection& seen, const Place& place);

/// Whether somebody has changed the document so that it is no identity. No claim may replace it: it
/// may be a hold of another program's.
bool is_changed_identity(const Inspection& seen);
/// It is told of such a member.
inline constexpr std::string_view kIdentityChanged =
    "somebody has changed its document \"distlock: member of a mirrored store\", so that it counts "
    "for nobody: empty it";

/// The basis of a claim of the identity's document, as it was seen.
ClaimBasis basis_of(const Inspection& seen);

/// The common part of all claims of identities.
struct SetTerms {
  Token set;
  std::chrono::milliseconds longest_takeover{};
  Returns returns;
};
/// The claim that makes a member one of the set.
Claim identity_claim(const Token& token, const SetTerms& terms, const Place& place,
                     const StoreNow& cutoff);
/// The claim that marks a member as kept out.
Claim marker_claim(const Token& token, const SetTerms& terms, const Place& place,
                   const StoreNow& cutoff);
/// The claim by which a member that is one of the set, as it was seen, hears of more returns. It
/// keeps its identity.
Claim news_claim(const Inspection& seen, const Returns& returns, const StoreNow& cutoff);

/// Errors: `invalid_argument` if a lock may not be called so.
void check_not_identity(std::string_view name);

}  // namespace distlock::mirrored
