#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cli/view.h"

// How the members of a mirrored store are shown. They are numbered from 1 on, in the order of
// the connection string.
namespace distlock::cli {

/// The numbers of the members that carry the record.
std::vector<std::size_t> carriers_of(const LockRecord& lock,
                                     const std::vector<MemberState>& members);
/// The same as text.
std::string carriers_text(const LockRecord& lock, const std::vector<MemberState>& members);

/// Whether its clock is more than a second from the middle one of all members'.
bool is_skewed(const MemberState& member);

/// One word a fault: `ok`, `away`, `empty`, `kept out`, `strange`, `behind`, `odd`,
/// `skewed`.
std::string state_of(const MemberState& member);

/// A line of at most 80 letters for each member that does not count.
void print_members_that_do_not_count(std::ostream& out, const std::vector<MemberState>& members,
                                     bool in_colour);

/// One table of members.
void print_members(std::ostream& out, const std::vector<MemberState>& members, bool in_colour);

}  // namespace distlock::cli
