#pragma once

#include <string_view>
#include <vector>

#include "distlock/members.h"

namespace distlock {

/// Whether the hold of `ts` may be of another process than `process`: one that a majority of the
/// members names, if those that said nothing name it, too. A release would free it there. Always
/// false on a store without members.
///
/// Where no process can have a majority, somebody has edited the hold on several members: it
/// protects nobody, and each process that a member names may free it.
bool may_be_of_another(std::string_view process, const Members* members,
                       const std::vector<Inspection>& seen, const Token& ts);

}  // namespace distlock
