#pragma once

#include <atomic>
#include <cstdint>
#include <iosfwd>

#include "original/algorithms.h"
#include "original/flaws.h"
#include "sim/setup.h"

namespace distlock::original {

/// How many runs of a batch showed each flaw, and the first that did.
struct Found {
  std::uint64_t runs = 0;
  std::array<std::uint64_t, kFlaws> times{};
  std::array<std::uint64_t, kFlaws> first{};
};

Found search(Algorithm algorithm, std::uint64_t first, std::uint64_t last,
             const sim::Narrowing& narrowing, const std::atomic<bool>& stop);

/// The first seed below `most` that shows it.
std::optional<std::uint64_t> first_seed(Algorithm algorithm, Flaw flaw, std::uint64_t most);

/// Fewer processes, faults and steps that still show it.
sim::Narrowing shrink(Algorithm algorithm, std::uint64_t seed, Flaw flaw,
                      const sim::Narrowing& narrowing);

// tools/sim --original, --tournament and --redlock.
void print(std::ostream& out, Algorithm algorithm, const Found& found,
           const sim::Narrowing& narrowing);
/// Whether it showed anything.
bool replay(std::ostream& out, Algorithm algorithm, std::uint64_t seed,
            const sim::Narrowing& narrowing);

}  // namespace distlock::original
