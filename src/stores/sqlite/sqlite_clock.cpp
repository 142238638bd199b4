#include "stores/sqlite/sqlite_clock.h"

#include <sys/stat.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <random>

#include "distlock/error.h"
#include "failure.h"
#include "stores/sqlite/sqlite_file_system.h"

namespace distlock {
namespace {

std::chrono::milliseconds read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::seconds{now.tv_sec} +
                                                       std::chrono::nanoseconds{now.tv_nsec});
}

constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

std::string boot_id() {
  std::string boot;
  errno = 0;
  std::ifstream(kBootId) >> boot;
  if (boot.empty()) {
    const int error = errno;
    std::string what = "cannot tell this boot from another: cannot read ";
    what.append(kBootId).append(error == EMFILE ? ", " + system_failure(error) : "; mount /proc");
    // Without /proc a wait for it has no end.
    const bool stays = error == ENOENT || error == ENOTDIR || error == EACCES;
    throw Error(stays ? Errc::invalid_argument : Errc::not_applied, what);
  }
  return boot;
}

std::optional<ino_t> number_of(const char* name_space) {
  struct stat status {};
  if (stat(name_space, &status) != 0) return std::nullopt;
  return status.st_ino;
}

// By how much CLOCK_BOOTTIME is shifted here, in nanoseconds; nothing if nobody says.
std::optional<std::int64_t> boottime_shift() {
  const auto ours = number_of("/proc/self/ns/time");
  // A kernel without time namespaces has one clock for all.
  if (!ours) return errno == ENOENT ? std::optional<std::int64_t>(0) : std::nullopt;
  // The kernel tells the shift of the children's namespace.
  if (ours != number_of("/proc/self/ns/time_for_children")) return std::nullopt;
  std::ifstream offsets("/proc/self/timens_offsets");
  std::string clock;
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  while (offsets >> clock >> seconds >> nanoseconds) {
    if (clock == "boottime") return seconds * 1'000'000'000 + nanoseconds;
  }
  return std::nullopt;
}

std::string random_name() {
  std::random_device random;
  return std::to_string(random()) + '-' + std::to_string(random());
}

}  // namespace

BootClock boot_clock() {
  const std::string containers = "container/";
  // Some managers of containers mount a file of theirs there.
  const bool in_container = is_mounted_by_itself(kBootId);
  BootClock clock;
  clock.boot = (in_container ? containers : "") + boot_id() + '/';
  clock.unrelated = {in_container ? "" : clock.boot, containers};
  const auto shift = boottime_shift();
  clock.name = clock.boot + (!shift ? "unknown-" + random_name()
                                    : (*shift < 0 ? "" : "+") + std::to_string(*shift) + "ns");
  return clock;
}

std::chrono::milliseconds since_boot() { return read(CLOCK_BOOTTIME); }

std::chrono::milliseconds new_epoch() { return read(CLOCK_REALTIME) - since_boot(); }

}  // namespace distlock
