#pragma once

#include <memory>
#include <vector>

/// The code that tools/mutation puts into the library's sources, which then hold hundreds of
/// mistakes at once.
namespace distlock_mutation {

/// Whether the mistake of this number is the one to be made in this process: that of the
/// environment's DISTLOCK_PLANTED. Notes that its place was reached, in the file of
/// DISTLOCK_REACHED, if there is one: forked children and programs that a test starts share it.
bool planted(int number) noexcept;

/// The numbers reached since the last call.
std::vector<int> take_reached();

}  // namespace distlock_mutation
