// A file that processes of several time namespaces share, as containers do.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <iostream>

#include "distlock/distributed_lock.h"
#include "distlock/pinger.h"
#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_clock.h"
#include "support/exit_status_in.h"
#include "support/leave.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr auto kThreeDays = std::chrono::milliseconds{72h};

// The exit status of a child that does this; a hang is SIGALRM's.
int status_of_child(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    // Nothing may get out of here: this process would go on with the other tests.
    try {
      leave(act());
    } catch (...) {
      leave(9);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return exit_status_in(status);
}

bool new_namespace_for_children(long seconds) {
  if (unshare(CLONE_NEWTIME) != 0) return false;
  std::ofstream offsets("/proc/self/timens_offsets");
  return static_cast<bool>(offsets << "boottime " << seconds << " 0" << std::flush);
}

/// Does this in a process whose CLOCK_BOOTTIME is so many seconds on: 0 if all went well, nothing
/// where this machine makes no time namespaces.
std::optional<int> in_time_namespace(long seconds, const std::function<int()>& act) {
  constexpr int kRefused = 99;
  const int status = status_of_child(
      [&] { return new_namespace_for_children(seconds) ? status_of_child(act) : kRefused; });
  if (status != kRefused) return status;
  std::cout << "SKIPPED: this machine makes no time namespaces (unshare -T)" << std::endl;
  return std::nullopt;
}

/// From now on, if this user may have that.
bool has_mounts_of_its_own() {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

/// Does this in a process that finds this file in place of the boot's id, as some managers of
/// containers arrange it. Nothing where this user makes no mounts.
std::optional<int> in_container(const fs::path& id, const std::function<int()>& act) {
  constexpr int kRefused = 99;
  std::ofstream(id) << "11111111-2222-3333-4444-555555555555" << std::endl;
  const int status = status_of_child([&] {
    if (!has_mounts_of_its_own()) return kRefused;
    const char* boot_id = "/proc/sys/kernel/random/boot_id";
    if (mount(id.c_str(), boot_id, nullptr, MS_BIND, nullptr) != 0) return kRefused;
    return act();
  });
  if (status != kRefused) return status;
  std::cout << "SKIPPED: this user makes no mounts" << std::endl;
  return std::nullopt;
}

std::string read_line(const fs::path& file) {
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  return line;
}

std::string number_of_namespace() { return fs::read_symlink("/proc/self/ns/time").string(); }

// The name of the file's clock in such a process, and the number of its namespace.
struct Named {
  std::string clock;
  std::string number;
};

std::optional<Named> named_in(const fs::path& folder, long seconds) {
  const auto status = in_time_namespace(seconds, [&] {
    std::ofstream(folder / "clock") << open_at(folder / "locks.db")->list().now.clock;
    std::ofstream(folder / "number") << number_of_namespace();
    return 0;
  });
  if (!status) return std::nullopt;
  REQUIRE(*status == 0);
  return Named{read_line(folder / "clock"), read_line(folder / "number")};
}

// A holder that has just pinged, without a witness of its end, in a namespace whose epoch came from
// a wall clock three days off.
int hold_by_a_strange_clock(const fs::path& file, std::chrono::milliseconds epoch_off) {
  open_at(file);
  SqliteFile(file.string())
      .execute("UPDATE clocks SET epoch = epoch + " + std::to_string(epoch_off.count()) +
               " WHERE clock = '" + boot_clock().name + "'");
  const auto store = open_at(file, {.witness = WitnessRule::none});
  held(*store, "jobs");
  store->ping("holder");
  store->ping("another");
  return 0;
}

bool takes_over(const fs::path& file) {
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = open_at(file)},
                                                              PingerOptions{}, PingerDrive::caller);
  return DistributedLock(pinger, "jobs").lock_try("x");
}

}  // namespace

TEST_CASE("a living holder of another time namespace is watched, never believed dead",
          "[sqlite][R4][R6]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  open_at(file);
  const auto off = GENERATE(-kThreeDays, kThreeDays);
  const auto held_there =
      in_time_namespace(3600, [&] { return hold_by_a_strange_clock(file, off); });
  if (!held_there) return;
  REQUIRE(*held_there == 0);
  CHECK_FALSE(takes_over(file));
  ToolFixture fixture;
  CHECK(fixture.status({"list", "--uri", "sqlite:" + file.string()}) == 0);
  CHECK_THAT(fixture.output, Catch::Contains("watch 16m"));
}

TEST_CASE("a ping of another time namespace is not forgotten, however old it seems",
          "[sqlite][R4][R13]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  open_at(file);
  const auto held_there =
      in_time_namespace(3600, [&] { return hold_by_a_strange_clock(file, -10 * kThreeDays); });
  if (!held_there) return;
  REQUIRE(*held_there == 0);
  CHECK(open_at(file)->forget_pings(std::chrono::days{4}) == 0);
  CHECK(open_at(file)->list().pings.size() == 2);
}

TEST_CASE("time namespaces with one shift have one clock, whatever their numbers", "[sqlite][R4]") {
  const TemporaryFolder folder;
  const auto one = named_in(folder.path(), 3600);
  const auto same = named_in(folder.path(), 3600);
  const auto other = named_in(folder.path(), -60);
  if (!one || !same || !other) return;
  CHECK(one->clock == same->clock);
  CHECK(one->clock != other->clock);
  CHECK(one->clock != boot_clock().name);
  CHECK(one->number != number_of_namespace());
  CHECK(named_in(folder.path(), 0)->clock == boot_clock().name);
}

TEST_CASE("the epoch of a time namespace that has gone is not taken for a new one's",
          "[sqlite][R4]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const StoreTime now = open_at(file)->list().now.time;
  const auto status = in_time_namespace(3600, [&] {
    struct stat ours {};
    if (stat("/proc/self/ns/time", &ours) != 0) return 2;
    // As an older version named the clock of a namespace that had this number.
    SqliteFile(file.string())
        .execute("INSERT INTO clocks VALUES('" + boot_clock().boot + std::to_string(ours.st_ino) +
                 "', 0)");
    return open_at(file)->list().now.time >= now ? 0 : 3;
  });
  if (status) CHECK(*status == 0);
}

TEST_CASE("a process that cannot tell its time namespace has a clock of its own", "[sqlite][R4]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  constexpr int kRefused = 99;
  const int status = status_of_child([&] {
    if (!new_namespace_for_children(3600)) return kRefused;
    const StoreNow now = open_at(file)->list().now;
    if (now.clock == open_at(file)->list().now.clock) return 2;
    return now.clock.starts_with(now.unrelated.front()) ? 0 : 3;
  });
  if (status == kRefused) {
    std::cout << "SKIPPED: this machine makes no time namespaces (unshare -T)" << std::endl;
    return;
  }
  CHECK(status == 0);
  CHECK(open_at(file)->list().now.clock == boot_clock().name);
}

TEST_CASE("a living holder in a container with its own boot id is watched, never believed dead",
          "[sqlite][R4][R6]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  open_at(file);
  SECTION("from outside") {
    const auto held_there = in_container(folder.path() / "id", [&] {
      open_at(file);
      return hold_by_a_strange_clock(file, -10 * kThreeDays);
    });
    if (!held_there) return;
    REQUIRE(*held_there == 0);
    CHECK_FALSE(takes_over(file));
    CHECK(open_at(file)->forget_pings(std::chrono::days{4}) == 0);
  }
  SECTION("by one in the container") {
    REQUIRE(hold_by_a_strange_clock(file, -10 * kThreeDays) == 0);
    const auto taken = in_container(folder.path() / "id", [&] {
      if (open_at(file)->forget_pings(std::chrono::days{4}) != 0) return 2;
      return takes_over(file) ? 3 : 0;
    });
    if (taken) CHECK(*taken == 0);
  }
}

TEST_CASE("a host without /proc is an error that stays", "[sqlite][R4]") {
  const TemporaryFolder folder;
  constexpr int kRefused = 99;
  const int status = status_of_child([&] {
    if (!has_mounts_of_its_own()) return kRefused;
    if (mount("none", "/proc", "tmpfs", 0, nullptr) != 0) return kRefused;
    const auto errc = thrown_by([&] { (void)open_at(folder.path() / "locks.db"); });
    return errc == Errc::invalid_argument ? 0 : 2;
  });
  if (status == kRefused) {
    std::cout << "SKIPPED: this user makes no mounts" << std::endl;
    return;
  }
  CHECK(status == 0);
}

TEST_CASE("time namespaces whose shifts differ by less than a second have two clocks",
          "[sqlite][R4]") {
  constexpr int kRefused = 99;
  const TemporaryFolder folder;
  const auto name_at = [&](const std::string& nanoseconds) {
    return status_of_child([&] {
      if (unshare(CLONE_NEWTIME) != 0) return kRefused;
      std::ofstream offsets("/proc/self/timens_offsets");
      if (!(offsets << "boottime 3600 " << nanoseconds << std::flush)) return kRefused;
      return status_of_child([&] {
        std::ofstream(folder.path() / nanoseconds) << boot_clock().name;
        return 0;
      });
    });
  };
  const int whole = name_at("0");
  const int half = name_at("500000000");
  if (whole == kRefused || half == kRefused) {
    std::cout << "SKIPPED: this machine makes no time namespaces (unshare -T)" << std::endl;
    return;
  }
  REQUIRE(whole == 0);
  REQUIRE(half == 0);
  CHECK_FALSE(read_line(folder.path() / "0").empty());
  CHECK(read_line(folder.path() / "0") != read_line(folder.path() / "500000000"));
}
