#include "distlock/guard.h"

#include <new>
#include <utility>

#include "distlock/distributed_lock.h"

namespace distlock {

HoldGuard::HoldGuard(HoldGuard&& from) noexcept
    : lock_(from.lock_),
      hold_(std::exchange(from.hold_, {})),
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

// Nobody would have a guard to end the hold by, if there is no memory for one.
void HoldGuard::note(bool got) {
  try {
    if (got) hold_ = lock_->record();
  } catch (const std::bad_alloc&) {
    lock_->unlock();
    throw;
  }
  got_ = got;
}

}  // namespace distlock
