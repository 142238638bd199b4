#include "sim/batch.h"

#include <algorithm>
#include <iomanip>
#include <istream>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <thread>

namespace distlock::sim {
namespace {

constexpr std::size_t kViolationsKept = 100;
constexpr std::uint64_t kSeedsAtOnce = 32;
constexpr std::string_view kStateHeader = "distlock simulation 5";

template <std::size_t N>
void write_numbers(std::ostream& out, const std::array<std::uint64_t, N>& numbers) {
  for (const std::uint64_t number : numbers) out << number << ' ';
  out << '\n';
}

template <std::size_t N>
void read_numbers(std::istream& in, std::array<std::uint64_t, N>& numbers) {
  for (std::uint64_t& number : numbers) in >> number;
}

}  // namespace

void Totals::add(std::uint64_t seed, const Outcome& outcome) {
  ++runs;
  steps += outcome.steps;
  faults += outcome.faults;
  events += outcome.events;
  if (outcome.violation && violations.size() < kViolationsKept) {
    violations.emplace_back(seed, *outcome.violation);
  }
}

Totals& Totals::operator+=(const Totals& other) {
  runs += other.runs;
  steps += other.steps;
  faults += other.faults;
  events += other.events;
  violations.insert(violations.end(), other.violations.begin(), other.violations.end());
  std::sort(violations.begin(), violations.end());
  if (violations.size() > kViolationsKept) violations.resize(kViolationsKept);
  return *this;
}

Totals run_batch(std::uint64_t first, std::uint64_t last, int jobs, const Narrowing& narrowing,
                 const std::atomic<bool>& stop, bool until_violation) {
  Totals totals;
  std::mutex mutex;
  std::atomic<std::uint64_t> next{first};
  std::atomic<bool> found{false};
  const auto work = [&] {
    Totals own;
    while (!stop && !found) {
      const std::uint64_t begin = next.fetch_add(kSeedsAtOnce);
      if (begin >= last) break;
      const std::uint64_t end = std::min(begin + kSeedsAtOnce, last);
      for (std::uint64_t seed = begin; seed < end && !stop && !found; ++seed) {
        own.add(seed, run(setup_from(seed, narrowing)));
        if (until_violation && !own.violations.empty()) found = true;
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    totals += own;
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  threads.clear();
  return totals;
}

void print_coverage(std::ostream& out, const Totals& totals) {
  out << std::left << std::setw(24) << "fault" << std::right << std::setw(12) << "happened"
      << std::setw(12) << "mattered"
      << "  what it does\n";
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    out << std::left << std::setw(24) << name_of(fault) << std::right << std::setw(12)
        << totals.faults.happened[i] << std::setw(12) << totals.faults.mattered[i] << "  "
        << about(fault) << '\n';
  }
  out << '\n'
      << std::left << std::setw(36) << "branch of the protocol" << std::right << std::setw(12)
      << "taken" << '\n';
  for (std::size_t i = 0; i < kEvents; ++i) {
    out << std::left << std::setw(36) << name_of(static_cast<Event>(i)) << std::right
        << std::setw(12) << totals.events.happened[i] << '\n';
  }
}

std::vector<std::string> never_reached(const Totals& totals, bool mirrored) {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    if (mirrored ? of_the_line(fault) : of_mirrored_stores_alone(fault)) continue;
    if (totals.faults.mattered[i] == 0) missing.push_back("fault " + std::string(name_of(fault)));
  }
  const std::size_t first_event = mirrored ? kEventsOfAll : 0;
  const std::size_t last_event = mirrored ? kEvents : kEventsOfAll;
  for (std::size_t i = first_event; i < last_event; ++i) {
    if (totals.events.happened[i] == 0) {
      missing.push_back("branch " + std::string(name_of(static_cast<Event>(i))));
    }
  }
  return missing;
}

void save(std::ostream& out, std::uint64_t next_seed, const Totals& totals) {
  out << kStateHeader << '\n' << next_seed << ' ' << totals.runs << ' ' << totals.steps << '\n';
  write_numbers(out, totals.faults.happened);
  write_numbers(out, totals.faults.mattered);
  write_numbers(out, totals.events.happened);
  for (const auto& [seed, what] : totals.violations) out << seed << ' ' << what << '\n';
}

std::uint64_t load(std::istream& in, const std::string& file, Totals& totals) {
  std::string header;
  std::getline(in, header);
  std::uint64_t next_seed = 0;
  in >> next_seed >> totals.runs >> totals.steps;
  read_numbers(in, totals.faults.happened);
  read_numbers(in, totals.faults.mattered);
  read_numbers(in, totals.events.happened);
  if (!in || header != kStateHeader) {
    throw std::runtime_error(file + " is not the state of a simulation of this version");
  }
  std::uint64_t seed = 0;
  std::string what;
  while (in >> seed && std::getline(in >> std::ws, what))
    totals.violations.emplace_back(seed, what);
  return next_seed;
}

}  // namespace distlock::sim
