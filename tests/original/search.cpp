#include "original/search.h"

#include <iomanip>
#include <ostream>

#include "original/fleet_run.h"
#include "sim/batch.h"

namespace distlock::original {
namespace {

bool shows(std::uint64_t seed, const sim::Narrowing& narrowing, Flaw flaw) {
  return run(fleet_setup_from(seed, narrowing))[static_cast<std::size_t>(flaw)].has_value();
}

}  // namespace

Found search(std::uint64_t first, std::uint64_t last, const sim::Narrowing& narrowing,
             const std::atomic<bool>& stop) {
  Found found;
  for (std::uint64_t seed = first; seed < last && !stop; ++seed) {
    const Findings findings = run(fleet_setup_from(seed, narrowing));
    ++found.runs;
    for (std::size_t i = 0; i < kFlaws; ++i) {
      if (findings[i] && found.times[i]++ == 0) found.first[i] = seed;
    }
  }
  return found;
}

std::optional<std::uint64_t> first_seed(Flaw flaw, std::uint64_t most) {
  for (std::uint64_t seed = 0; seed < most; ++seed) {
    if (shows(seed, {}, flaw)) return seed;
  }
  return std::nullopt;
}

sim::Narrowing shrink(std::uint64_t seed, Flaw flaw, const sim::Narrowing& narrowing) {
  return sim::shrink(fleet_setup_from(seed, narrowing).world, narrowing,
                     [&](const sim::Narrowing& smaller) { return shows(seed, smaller, flaw); });
}

void print(std::ostream& out, const Found& found, const sim::Narrowing& narrowing) {
  for (std::size_t i = 0; i < kFlaws; ++i) {
    const auto flaw = static_cast<Flaw>(i);
    out << std::left << std::setw(20) << name_of(flaw) << std::right << std::setw(9)
        << found.times[i] << "  " << about(flaw) << '\n';
    if (found.times[i] == 0) continue;
    const auto smallest = shrink(found.first[i], flaw, narrowing);
    out << "    tools/sim --original " << sim::replay_arguments(found.first[i], smallest) << '\n';
  }
  out << found.runs << " schedules of the original\n";
}

bool replay(std::ostream& out, std::uint64_t seed, const sim::Narrowing& narrowing) {
  bool any = false;
  const Findings findings = run(fleet_setup_from(seed, narrowing), &out);
  for (std::size_t i = 0; i < kFlaws; ++i) {
    if (!findings[i]) continue;
    any = true;
    out << name_of(static_cast<Flaw>(i)) << ' ' << *findings[i] << '\n';
  }
  return any;
}

}  // namespace distlock::original
