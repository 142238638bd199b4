#pragma once

#include <string>

#include "original/flaws.h"
#include "original/witness.h"
#include "sim/scheduler.h"
#include "sim/trace.h"

namespace distlock::original {

/// A witness that keeps the first case of each flaw.
class Finder : public Witness {
 public:
  Finder(const sim::Scheduler& scheduler, sim::Trace& trace)
      : scheduler_(scheduler), trace_(trace) {}

  const Findings& findings() const { return findings_; }

 protected:
  void found(Flaw flaw, const std::string& what);
  sim::Time now() const { return scheduler_.now(); }

 private:
  const sim::Scheduler& scheduler_;
  sim::Trace& trace_;
  Findings findings_;
};

}  // namespace distlock::original
