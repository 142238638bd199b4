#include <algorithm>

#include "sim/oracle.h"
#include "sim/trace.h"

// Until when holders believe that they may act (R1, R9).
namespace distlock::sim {

void Oracle::heard_of_ping(const std::string& process, SteadyTime sent, Time call_limit) {
  heard_.insert_or_assign(process, Heard{sent, call_limit});
}

void Oracle::check_now() {
  for (std::size_t i = 0; i < beliefs_.size(); ++i) {
    if (!valid(beliefs_[i])) continue;
    if (beliefs_[i].token.stop_requested()) {
      violate("the stop token of " + beliefs_[i].process + " is stopped, and its hold of " +
              beliefs_[i].lock + " is valid");
    }
    check_margin(beliefs_[i]);
    check_lasts(beliefs_[i]);
    for (std::size_t j = 0; j < i; ++j) check_pair(beliefs_[j], beliefs_[i]);
  }
}

void Oracle::check_pair(const Belief& one, const Belief& other) {
  if (one.lock != other.lock || !valid(one)) return;
  violate("two valid holders of " + one.lock + ": " + one.process + " and " + other.process);
}

// A contender may be two tolerances ahead of the clock that stamped the ping.
void Oracle::check_margin(const Belief& belief) {
  const auto ping = pings_.find(belief.process);
  if (!margins_hold_ || ping == pings_.end()) return;
  const Time window = claims_.at(belief.ts).takeover_after;
  const Time tolerated = std::min<Time>(std::chrono::seconds{30}, window / 16);
  const Time earliest = ping->second.stamped + window - 2 * tolerated;
  if (true_deadline(belief) <= earliest) return;
  violate(belief.process + " believes that it may act on " + belief.lock + " until " +
          text_of(true_deadline(belief)) + ", but a rival may have it from " + text_of(earliest));
}

// Each confirmed ping counts for all holds of its process, also for one that is being claimed.
void Oracle::check_lasts(const Belief& belief) {
  const auto heard = heard_.find(belief.process);
  if (heard == heard_.end()) return;
  const Time window = claims_.at(belief.ts).takeover_after;
  const Time span = window - 2 * std::min<Time>(std::chrono::seconds{30}, window / 16) -
                    heard->second.call_limit - window / 1000;
  const Time missing = heard->second.sent + span - belief.object->valid_until();
  if (missing <= Time{0}) return;
  violate(belief.process + " believes that its hold of " + belief.lock + " ends " +
          text_of(missing) + " before the deadline that its last ping gives it");
}

Time Oracle::true_deadline(const Belief& belief) const {
  return scheduler_.now() + (belief.object->valid_until() - belief.clock->steady_at_this_moment());
}

}  // namespace distlock::sim
