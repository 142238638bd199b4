#include "stores/sqlite/sqlite_clock.h"

#include <sys/stat.h>
#include <time.h>

#include <fstream>

#include "distlock/error.h"

namespace distlock {
namespace {

std::chrono::milliseconds read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::seconds{now.tv_sec} +
                                                       std::chrono::nanoseconds{now.tv_nsec});
}

// A kernel without time namespaces has one clock for all.
std::string time_namespace() {
  struct stat status {};
  return stat("/proc/self/ns/time", &status) == 0 ? std::to_string(status.st_ino) : "0";
}

}  // namespace

std::string boot_clock_name() {
  constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";
  std::string boot;
  std::ifstream(kBootId) >> boot;
  if (boot.empty()) {
    throw Error(Errc::not_applied, std::string("cannot tell this boot from another: cannot read ") +
                                       kBootId + "; mount /proc");
  }
  return boot + '/' + time_namespace();
}

std::chrono::milliseconds since_boot() { return read(CLOCK_BOOTTIME); }

std::chrono::milliseconds new_epoch() { return read(CLOCK_REALTIME) - since_boot(); }

}  // namespace distlock
