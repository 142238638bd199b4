#pragma once

#include <cstdint>

namespace distlock {

/// Of the calling thread: a small number in order of first use, the same in every run of a program.
/// Unlike a system id, no other thread of the process ever gets it.
std::uint64_t this_thread_number() noexcept;

}  // namespace distlock
