#pragma once

#include <iosfwd>

#include "cli/arguments.h"

namespace distlock::cli {

/// distlock role: prints the command that makes a role with the least privileges
/// (docs/security.md).
void print_role(std::ostream& out, const RoleArguments& arguments);

}  // namespace distlock::cli
