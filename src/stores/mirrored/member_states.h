#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "distlock/members.h"
#include "stores/mirrored/identity.h"

// How the members of a mirrored store fare, for people. Pure.
namespace distlock::mirrored {

/// The answer of one member to a look at it.
struct MemberLook {
  Inspection identity;
  Listing listing;
  std::chrono::milliseconds off{0};  ///< Of its clock, from one that is the same for all members.
  std::optional<std::string> malformed = {};  ///< The fault of the identity's document.
  bool of_before = false;  ///< Its place was given anew since: Member::is_of_before().
};

/// How each member fares: those that gave no answer are away. The set is the one that most of the
/// others say they are of, be they a majority or not. Descriptions are left empty.
std::vector<MemberState> states_of(const std::vector<std::optional<MemberLook>>& looks);

}  // namespace distlock::mirrored
