#pragma once

#include <cstdint>

namespace distlock {

/// Of the calling thread. Unlike its id, no other thread of the process ever gets it.
std::uint64_t this_thread_number() noexcept;

}  // namespace distlock
