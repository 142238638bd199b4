#include "distlock/guard.h"

#include <utility>

#include "distlock/distributed_lock.h"

namespace distlock {

HoldGuard::HoldGuard(HoldGuard&& from) noexcept
    : lock_(from.lock_),
      hold_(std::move(from.hold_)),
      other_(std::move(from.other_)),
      got_(std::exchange(from.got_, false)) {}

HoldGuard::~HoldGuard() {
  if (got_) lock_->unlock(hold_);
}

void HoldGuard::try_once(std::string_view why) { note(lock_->lock_try(why, &other_)); }

void HoldGuard::wait(const std::stop_token& stop, std::string_view why) {
  note(lock_->lock(stop, why, &other_));
}

void HoldGuard::wait_for(std::chrono::nanoseconds limit, const std::stop_token& stop,
                         std::string_view why) {
  note(lock_->try_lock_for(limit, stop, why, &other_));
}

void HoldGuard::note(bool got) {
  if (got) hold_ = lock_->record();
  got_ = got;
}

}  // namespace distlock
