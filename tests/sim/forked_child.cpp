#include "sim/forked_child.h"

#include "distlock/error.h"
#include "fork_guard.h"

namespace distlock {
namespace {

thread_local std::uint64_t generation = 0;

}  // namespace

// The library's own counts real forks; here a fiber plays the child.
std::uint64_t fork_generation() noexcept { return generation; }

void ForkGuard::check(const char* what) const {
  if (in_child()) throw Error(Errc::forked, what);
}

namespace sim {

ForkedChild::ForkedChild() { ++generation; }
ForkedChild::~ForkedChild() { --generation; }
bool ForkedChild::running() { return generation != 0; }

}  // namespace sim
}  // namespace distlock
