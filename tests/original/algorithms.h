#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "original/program.h"
#include "original/published_lock.h"

namespace distlock::original {

/// The algorithms that are searched for how they break.
enum class Algorithm : std::uint8_t {
  original,    ///< Part 1 of docs/protocol.md, on one server.
  tournament,  ///< The same on three mirrored servers, with step 5 of lock_try.
  redlock,     ///< "Distributed Locks with Redis" (redis.io), on three servers.
};

/// As the argument of tools/sim: "--original".
std::string_view argument_of(Algorithm algorithm);
/// The same in words, for people.
std::string_view about(Algorithm algorithm);
std::size_t servers_of(Algorithm algorithm);
std::unique_ptr<PublishedLock> lock_of(Algorithm algorithm, Program& program,
                                       const std::string& name);
/// One round of its pinger, if it has one.
void ping_round_of(Algorithm algorithm, Program& program);

}  // namespace distlock::original
