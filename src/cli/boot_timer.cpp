#include "cli/boot_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace distlock::cli {

BootTimer::BootTimer() : descriptor_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
}

BootTimer::~BootTimer() { close(descriptor_); }

void BootTimer::set(SteadyTime at) const {
  itimerspec setting{};  // All 0 disarms it.
  if (at != SteadyTime::max()) {
    const auto since_boot = std::max(at.time_since_epoch(), std::chrono::nanoseconds{1});
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    setting.it_value.tv_sec = seconds.count();
    setting.it_value.tv_nsec = (since_boot - seconds).count();
  }
  timerfd_settime(descriptor_, TFD_TIMER_ABSTIME, &setting, nullptr);
}

}  // namespace distlock::cli
