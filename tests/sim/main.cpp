#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "original/search.h"
#include "sim/batch.h"

// tools/sim: many schedules of the shipping classes, or one again.
namespace {

using namespace distlock::sim;
using distlock::original::Algorithm;

constexpr int kViolated = 1;
constexpr int kWrongUsage = 2;
constexpr std::uint64_t kBlock = 10'000;

std::atomic<bool> interrupted{false};

struct Arguments {
  std::uint64_t schedules = 100'000;
  std::uint64_t first_seed = 0;
  std::optional<std::uint64_t> seed;
  int jobs = 1;
  std::string faults;
  int processes = 0;
  int workers = 0;
  std::uint64_t until_ms = 0;
  std::string state_file;
  std::string table_file;
  bool until_violation = false;
  bool assert_reach = false;
  bool list_faults = false;
  bool quiet = false;
  bool traces = false;
  bool original = false;
  bool tournament = false;
  bool redlock = false;
  bool mirrored = false;
  bool calm = false;
};

FaultSet faults_of(const std::string& names) {
  FaultSet set;
  if (names == "none") return set;
  std::istringstream in(names);
  for (std::string name; std::getline(in, name, ',');) {
    const auto fault = fault_named(name);
    if (!fault) {
      throw CLI::ValidationError(
          "--faults", "there is no fault \"" + name + "\"; --list-faults prints them all");
    }
    set.set(static_cast<std::size_t>(*fault));
  }
  return set;
}

Narrowing narrowing_of(const Arguments& arguments) {
  Narrowing narrowing;
  if (!arguments.faults.empty()) narrowing.faults = faults_of(arguments.faults);
  narrowing.mirrored = arguments.mirrored;
  narrowing.calm = arguments.calm;
  if (arguments.processes > 0) narrowing.processes = arguments.processes;
  if (arguments.workers > 0) narrowing.workers = arguments.workers;
  if (arguments.until_ms > 0) narrowing.horizon = std::chrono::milliseconds{arguments.until_ms};
  return narrowing;
}

void define(CLI::App& app, Arguments& arguments) {
  const auto at_least_one = CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U);
  auto* seed = app.add_option("--seed", arguments.seed, "Run this one and print what happens");
  app.add_option("--schedules", arguments.schedules, "How many seeds to run")
      ->check(at_least_one)
      ->excludes(seed);
  app.add_option("--first-seed", arguments.first_seed, "The seed to begin with");
  app.add_option("--jobs", arguments.jobs, "How many at once")->check(CLI::Range(1, 256));
  app.add_option("--faults", arguments.faults, "These and no others, by comma; or none");
  app.add_option("--processes", arguments.processes, "At most so many")->check(CLI::Range(1, 4));
  app.add_option("--workers", arguments.workers, "So many a process")->check(CLI::Range(1, 8));
  app.add_option("--until-ms", arguments.until_ms, "When the faults end")->check(at_least_one);
  app.add_option("--state", arguments.state_file, "Where to keep what is done, and to go on from");
  app.add_option("--table", arguments.table_file, "Where to write what happened, as Markdown");
  app.add_flag("--until-violation", arguments.until_violation, "Stop at the first violation");
  app.add_flag("--assert-reach", arguments.assert_reach,
               "Fail if a fault never mattered or a branch was never taken");
  app.add_flag("--list-faults", arguments.list_faults, "Print all faults, and end");
  app.add_flag("--traces", arguments.traces, "Print what happens in every one, and nothing else");
  auto* original =
      app.add_flag("--original", arguments.original,
                   "Let only processes of the original's algorithm run, and say how it breaks");
  auto* tournament = app.add_flag("--tournament", arguments.tournament,
                                  "The same on three mirrored servers, with its tournament");
  app.add_flag("--redlock", arguments.redlock, "The same of Redlock as published, on three servers")
      ->excludes(original)
      ->excludes(tournament->excludes(original));
  app.add_flag("--mirrored", arguments.mirrored, "On a mirrored store of three or five members");
  app.add_flag("--calm", arguments.calm, "Without the runs whose workers are in a hurry");
  app.add_flag("--quiet", arguments.quiet, "No table of what happened");
}

int replay(const Arguments& arguments) {
  const Outcome outcome = run(setup_from(*arguments.seed, narrowing_of(arguments)), &std::cout);
  if (!outcome.violation) {
    std::cout << "no violation in " << outcome.steps << " steps\n";
    return 0;
  }
  std::cout << "VIOLATION " << *outcome.violation << '\n';
  return kViolated;
}

int print_traces(const Arguments& arguments) {
  const Narrowing narrowing = narrowing_of(arguments);
  for (std::uint64_t i = 0; i < arguments.schedules; ++i) {
    run(setup_from(arguments.first_seed + i, narrowing), &std::cout);
  }
  return 0;
}

void report_violations(const Totals& totals, const Narrowing& narrowing) {
  for (const auto& [seed, what] : totals.violations) {
    std::cout << "VIOLATION of seed " << seed << ' ' << what << '\n';
  }
  if (totals.violations.empty()) return;
  const std::uint64_t seed = totals.violations.front().first;
  std::cout << "again: tools/sim " << replay_arguments(seed, narrowing) << '\n'
            << "smallest: tools/sim " << replay_arguments(seed, shrink(seed, narrowing)) << '\n';
}

void save_state(const std::string& file, std::uint64_t next_seed, const Totals& totals) {
  if (file.empty()) return;
  std::ofstream out(file + ".new");
  save(out, next_seed, totals);
  out.close();
  std::filesystem::rename(file + ".new", file);
}

void write_table(const std::string& file, const Totals& totals) {
  if (file.empty()) return;
  std::ofstream out(file);
  out << "# What the simulation reached\n\nWritten by `tools/sim --schedules " << totals.runs
      << " --table docs/generated/simulation-reach.md`: " << totals.runs << " schedules, "
      << totals.steps << " steps, " << totals.violations.size() << " violations.\n\n```\n";
  print_coverage(out, totals);
  out << "```\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

std::uint64_t a_second(std::uint64_t count, std::chrono::duration<double> took) {
  return static_cast<std::uint64_t>(static_cast<double>(count) / took.count());
}

// Runs them block by block, keeping what is done; gives the time it took.
std::chrono::duration<double> run_blocks(const Arguments& arguments, std::uint64_t next,
                                         Totals& totals) {
  const Narrowing narrowing = narrowing_of(arguments);
  const std::uint64_t end = arguments.first_seed + arguments.schedules;
  const auto begun = std::chrono::steady_clock::now();
  while (next < end && !interrupted) {
    const std::uint64_t block_end = std::min(next + kBlock, end);
    totals += run_batch(next, block_end, arguments.jobs, narrowing, interrupted,
                        arguments.until_violation);
    if (interrupted || (arguments.until_violation && !totals.violations.empty())) break;
    save_state(arguments.state_file, next = block_end, totals);
  }
  return std::chrono::steady_clock::now() - begun;
}

int exit_status(const Arguments& arguments, const Totals& totals) {
  if (!totals.violations.empty()) return kViolated;
  if (interrupted) return 130;
  const auto missing = arguments.assert_reach ? never_reached(totals, arguments.mirrored)
                                              : std::vector<std::string>{};
  for (const std::string& what : missing) std::cout << "NEVER REACHED " << what << '\n';
  return missing.empty() ? 0 : kViolated;
}

int run_many(const Arguments& arguments) {
  Totals totals;
  std::uint64_t next = arguments.first_seed;
  if (std::ifstream state(arguments.state_file); state) {
    next = load(state, arguments.state_file, totals);
  }
  const std::uint64_t runs_before = totals.runs;
  const std::uint64_t steps_before = totals.steps;
  const auto took = run_blocks(arguments, next, totals);
  if (!arguments.quiet) print_coverage(std::cout, totals);
  write_table(arguments.table_file, totals);
  report_violations(totals, narrowing_of(arguments));
  std::cout << totals.runs << " schedules, " << totals.steps << " steps, "
            << totals.violations.size() << " violations; "
            << a_second(totals.runs - runs_before, took) << " schedules and "
            << a_second(totals.steps - steps_before, took) << " steps a second"
            << (interrupted ? "; interrupted" : "") << '\n';
  return exit_status(arguments, totals);
}

// Whose processes are to run instead of ours.
std::optional<Algorithm> algorithm_of(const Arguments& arguments) {
  if (arguments.original) return Algorithm::original;
  if (arguments.tournament) return Algorithm::tournament;
  return arguments.redlock ? std::optional(Algorithm::redlock) : std::nullopt;
}

// How others' algorithms break is no failure of ours.
int run_algorithm(Algorithm algorithm, const Arguments& arguments) {
  const Narrowing narrowing = narrowing_of(arguments);
  const std::uint64_t first = arguments.first_seed;
  if (arguments.seed) {
    return distlock::original::replay(std::cout, algorithm, *arguments.seed, narrowing), 0;
  }
  const auto found = distlock::original::search(algorithm, first, first + arguments.schedules,
                                                narrowing, interrupted);
  distlock::original::print(std::cout, algorithm, found, narrowing);
  return interrupted ? 130 : 0;
}

void print_faults() {
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    std::cout << name_of(fault) << ": " << about(fault) << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs the library's own classes against a hostile simulated world", "tools/sim"};
  Arguments arguments;
  define(app, arguments);
  std::signal(SIGINT, [](int) { interrupted = true; });
  try {
    app.parse(argc, argv);
    if (arguments.list_faults) return print_faults(), 0;
    if (const auto algorithm = algorithm_of(arguments)) return run_algorithm(*algorithm, arguments);
    if (arguments.seed) return replay(arguments);
    return arguments.traces ? print_traces(arguments) : run_many(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  } catch (const std::exception& error) {
    std::cerr << "tools/sim: " << error.what() << '\n';
    return kWrongUsage;
  }
}
