#include "sim/original_rival.h"

#include <algorithm>

namespace distlock::sim {

void OriginalRival::start() {
  if (!world_.faults.enabled(Fault::original_process)) return;
  world_.faults.note(Fault::original_process);
  Random random = world_.random.fork();
  original::Constants constants;
  // The same window as ours, in its whole minutes.
  const auto window = std::chrono::floor<std::chrono::minutes>(world_.setup.longest_window());
  constants.takeover_minutes = std::max(0, static_cast<int>(window.count()) - 1);
  process_ = std::make_unique<original::OriginalProcess>(
      world_, "original",
      original::OriginalProcess::Site{
          original::Algorithm::original, {world_.all_servers().front()}, constants},
      *this);
  if (random.chance(0.5)) {
    const std::chrono::milliseconds most = std::chrono::hours{random.chance(0.5) ? 1 : 20};
    process_->set_wall_off(random.between(-most, most));
  }
  process_->start(world_.setup.workers, false);
  if (random.chance(0.3)) {
    world_.scheduler.at(random.between(Time{0}, world_.setup.horizon),
                        [this] { process_->crash(); });
  }
}

void OriginalRival::stop_working() {
  if (process_) process_->stop_working();
}

void OriginalRival::end() {
  if (process_) process_->crash();
}

bool OriginalRival::left(const StoredLock& lock) const {
  return process_ && lock.taken && lock.process == process_->id();
}

void OriginalRival::holds(std::string_view /*process*/, std::string_view /*lock*/,
                          const Token& /*ts*/) {
  world_.faults.mattered(Fault::original_process);
}

}  // namespace distlock::sim
