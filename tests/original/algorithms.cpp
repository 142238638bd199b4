#include "original/algorithms.h"

#include <array>

#include "original/original_lock.h"
#include "original/redlock.h"
#include "original/tournament.h"

namespace distlock::original {
namespace {

struct Known {
  std::string_view argument;
  std::string_view about;
  std::size_t servers;
};

// In the order of Algorithm.
constexpr std::array<Known, 3> kAlgorithms{{
    {"--original", "the original", 1},
    {"--tournament", "the original on three mirrored servers", 3},
    {"--redlock", "Redlock", 3},
}};

const Known& known(Algorithm algorithm) {
  return kAlgorithms.at(static_cast<std::size_t>(algorithm));
}

}  // namespace

std::string_view argument_of(Algorithm algorithm) { return known(algorithm).argument; }

std::string_view about(Algorithm algorithm) { return known(algorithm).about; }

std::size_t servers_of(Algorithm algorithm) { return known(algorithm).servers; }

std::unique_ptr<PublishedLock> lock_of(Algorithm algorithm, Program& program,
                                       const std::string& name) {
  switch (algorithm) {
    case Algorithm::tournament:
      return std::make_unique<TournamentLock>(program, name);
    case Algorithm::redlock:
      return std::make_unique<Redlock>(program, name);
    default:
      return std::make_unique<OriginalLock>(program, name);
  }
}

void ping_round_of(Algorithm algorithm, Program& program) {
  if (algorithm == Algorithm::original) return ping_round(program);
  if (algorithm == Algorithm::tournament) ping_all(program);
}

}  // namespace distlock::original
