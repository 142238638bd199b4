#include "guarded/stopped_holders.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "guarded/child.h"

namespace distlock::testing {
namespace {

constexpr int kAtOnce = 10;

std::unique_ptr<Child> start(const Scene& scene, const std::string& role, bool guarded,
                             const std::string& name) {
  return std::make_unique<Child>(std::vector<std::string>{
      scene.worker, role, guarded ? "guarded" : "bare", scene.locks, scene.resource, name});
}

struct Run {
  std::string name;
  std::unique_ptr<Child> holder;
  std::unique_ptr<Child> rival;
};

void judge(const std::string& name, const std::string& late, StoppedHolders& sum) {
  if (late == "refused 2") {
    ++sum.refused;
  } else if (late == "written 1") {
    ++sum.corrupted;
  } else {
    throw std::runtime_error(name + ", stopped: " + late);
  }
}

void stop_at_once(const Scene& scene, bool guarded, int first, int last, StoppedHolders& sum) {
  std::vector<Run> runs;
  for (int n = first; n < last; ++n) {
    const std::string name = (guarded ? "guarded" : "bare") + std::to_string(n);
    runs.push_back({.name = name, .holder = start(scene, "stop", guarded, name), .rival = {}});
  }
  for (Run& run : runs) {
    run.holder->wait_stopped();
    run.rival = start(scene, "count", guarded, run.name);
  }
  for (Run& run : runs) {
    const std::string won = run.rival->output();
    if (won != "written 2") throw std::runtime_error(run.name + ", the next: " + won);
    run.holder->resume();
  }
  for (Run& run : runs) judge(run.name, run.holder->output(), sum);
}

}  // namespace

StoppedHolders stop_holders(const Scene& scene, bool guarded, int runs) {
  StoppedHolders sum;
  for (int first = 0; first < runs; first += kAtOnce)
    stop_at_once(scene, guarded, first, std::min(first + kAtOnce, runs), sum);
  return sum;
}

}  // namespace distlock::testing
