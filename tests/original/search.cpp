#include "original/search.h"

#include <iomanip>
#include <ostream>

#include "original/fleet_run.h"
#include "sim/batch.h"

namespace distlock::original {
namespace {

bool shows(Algorithm algorithm, std::uint64_t seed, const sim::Narrowing& narrowing, Flaw flaw) {
  return run(fleet_setup_from(algorithm, seed, narrowing))[static_cast<std::size_t>(flaw)]
      .has_value();
}

}  // namespace

Found search(Algorithm algorithm, std::uint64_t first, std::uint64_t last,
             const sim::Narrowing& narrowing, const std::atomic<bool>& stop) {
  Found found;
  for (std::uint64_t seed = first; seed < last && !stop; ++seed) {
    const Findings findings = run(fleet_setup_from(algorithm, seed, narrowing));
    ++found.runs;
    for (std::size_t i = 0; i < kFlaws; ++i) {
      if (findings[i] && found.times[i]++ == 0) found.first[i] = seed;
    }
  }
  return found;
}

std::optional<std::uint64_t> first_seed(Algorithm algorithm, Flaw flaw, std::uint64_t most) {
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    if (shows(algorithm, seed, {}, flaw)) return seed;
  }
  return std::nullopt;
}

sim::Narrowing shrink(Algorithm algorithm, std::uint64_t seed, Flaw flaw,
                      const sim::Narrowing& narrowing) {
  return sim::shrink(
      fleet_setup_from(algorithm, seed, narrowing).world, narrowing,
      [&](const sim::Narrowing& smaller) { return shows(algorithm, seed, smaller, flaw); });
}

void print(std::ostream& out, Algorithm algorithm, const Found& found,
           const sim::Narrowing& narrowing) {
  for (std::size_t i = 0; i < kFlaws; ++i) {
    const auto flaw = static_cast<Flaw>(i);
    if (!may_show(algorithm, flaw)) continue;
    out << std::left << std::setw(20) << name_of(flaw) << std::right << std::setw(9)
        << found.times[i] << "  " << about(flaw) << '\n';
    if (found.times[i] == 0) continue;
    const auto smallest = shrink(algorithm, found.first[i], flaw, narrowing);
    out << "    tools/sim " << argument_of(algorithm) << ' '
        << sim::replay_arguments(found.first[i], smallest) << '\n';
  }
  out << found.runs << " schedules of " << about(algorithm) << '\n';
}

bool replay(std::ostream& out, Algorithm algorithm, std::uint64_t seed,
            const sim::Narrowing& narrowing) {
  bool any = false;
  const Findings findings = run(fleet_setup_from(algorithm, seed, narrowing), &out);
  for (std::size_t i = 0; i < kFlaws; ++i) {
    if (!findings[i]) continue;
    any = true;
    out << name_of(static_cast<Flaw>(i)) << ' ' << *findings[i] << '\n';
  }
  return any;
}

}  // namespace distlock::original
