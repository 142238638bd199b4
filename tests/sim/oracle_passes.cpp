#include "sim/oracle.h"
#include "sim/trace.h"

namespace distlock::sim {
namespace {

// The limits of R21, in words of their own; a little more time, since clocks drift.
constexpr Fence kHoldersMost = 64;
constexpr Time kPassedOnMost = std::chrono::milliseconds{51};

}  // namespace

// One thread of the process has passed the hold on to another (R21).
void Oracle::check_pass(const Belief& belief) {
  const Claimed& claim = claims_.at(belief.ts);
  const Time within = claim.given_up - claim.first_told;
  if (belief.fence > claim.last_fence) {
    violate(belief.process + " passed " + belief.lock + " on with a fence that it had not claimed");
  }
  if (claim.last_fence - claim.first_fence >= kHoldersMost) {
    violate(belief.process + " claimed more fences of " + belief.lock + " than it may");
  }
  if (within > kPassedOnMost) {
    violate(belief.process + " passed " + belief.lock + " on " + text_of(within) +
            " after its claim");
  }
}

void Oracle::gave_up(const Token& ts, Fence fence) {
  given_up_.insert_or_assign(ts, scheduler_.now());
  const auto claim = claims_.find(ts);
  if (claim != claims_.end()) claim->second.given_up = scheduler_.now();
  std::erase_if(beliefs_,
                [&](const Belief& belief) { return belief.ts == ts && belief.fence == fence; });
}

}  // namespace distlock::sim
