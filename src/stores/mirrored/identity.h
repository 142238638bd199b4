#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "distlock/store.h"

// A member's identity (M6): says of which set it is, and at which place. It is a taken document of
// `locks` under a reserved name, and lasts as long as the member's data. Its token is never used
// again. Pure.
namespace distlock::mirrored {

inline constexpr std::string_view kIdentityName = "distlock: member of a mirrored store";

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
};

/// The identity that its document states. Nothing if there is none, or that of another place.
std::optional<Identity> identity_in(const Inspection& seen, const Place& place);

/// Whether the member says that it is one of some set, at whatever place.
bool has_identity(const Inspection& seen);

/// The claim that makes a member one of `set`.
Claim identity_claim(const Token& token, const Token& set, const Place& place,
                     const StoreNow& cutoff);

/// The name that a member's clock has for users of the mirrored store. Clocks of two members may
/// have one name and be any time apart, as those of two SQLite files of one machine.
std::string clock_name(const Token& member, std::string_view clock);

/// Errors: `invalid_argument` if a lock may not be called so.
void check_not_identity(std::string_view name);

}  // namespace distlock::mirrored
