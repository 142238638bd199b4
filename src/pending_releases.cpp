#include "pending_releases.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "log.h"

namespace distlock {

void PendingReleases::add(PendingRelease release) {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  releases_.push_back(std::move(release));
}

std::size_t PendingReleases::count() const {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  return releases_.size();
}

void PendingReleases::work_off(Store& store, const Clock& clock, SteadyTime give_up_at) {
  std::vector<PendingRelease> tried;
  {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    tried = releases_;
  }
  for (const PendingRelease& release : tried) {
    const SteadyTime asked = clock.steady_now();
    if (asked >= give_up_at) return;
    const ReleaseResult result = store.release(release.name, release.ts);
    if (result != ReleaseResult::not_ours || asked >= release.settled_after) settle(release);
  }
}

void PendingReleases::settle(const PendingRelease& release) {
  {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    std::erase_if(releases_, [&](const PendingRelease& one) { return one.ts == release.ts; });
  }
  log::pending_release_done(release.name);
}

}  // namespace distlock
