#include "cli/boot_timer.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace distlock::cli {
namespace {

itimerspec setting_of(std::chrono::nanoseconds left) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  itimerspec setting{};
  setting.it_value.tv_sec = seconds.count();
  setting.it_value.tv_nsec = (left - seconds).count();
  return setting;
}

}  // namespace

BootTimer::BootTimer() : descriptor_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
}

BootTimer::~BootTimer() { close(descriptor_); }

// Sets the time that is left, and no absolute time: libfaketime moves an absolute time by what it
// adds to the wall clock. Sets it again if we were held up between the look at the clock and the
// setting.
void BootTimer::set(SteadyTime at) const {
  constexpr std::chrono::nanoseconds kAtOnce{1};
  constexpr std::chrono::milliseconds kHeldUp{1};
  SteadyTime looked;
  do {
    looked = host_clock()->steady_now();
    // All 0 disarms it.
    const auto setting = at == SteadyTime::max()
                             ? itimerspec{}
                             : setting_of(std::max(at, looked + kAtOnce) - looked);
    timerfd_settime(descriptor_, 0, &setting, nullptr);
  } while (host_clock()->steady_now() - looked > kHeldUp);
}

}  // namespace distlock::cli
