#include <sys/stat.h>
#include <sys/vfs.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <fstream>

#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_file_system.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
namespace fs = std::filesystem;

namespace {

// The answer of statfs() to the library in this program, if not the truth.
std::optional<long> claimed_magic;

}  // namespace

// Ahead of libc's, since it is the program's own.
extern "C" int statfs(const char* path, struct statfs* status) noexcept {
  struct stat there {};
  if (stat(path, &there) != 0) return -1;
  *status = {};
  status->f_type = claimed_magic.value_or(0xEF53);
  return 0;
}

TEST_CASE("a symbolic link is the file that it leads to", "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto link = folder.path() / "link.db";
  const auto store = open_at(file);
  fs::create_symlink(file, link);
  const LockRecord lock = held(*store, "jobs");

  const auto other = open_at(link);
  REQUIRE(other->inspect("jobs", Freshness::fresh).lock);
  CHECK(other->inspect("jobs", Freshness::fresh).lock->ts == lock.ts);
  CHECK_FALSE(other->claim("jobs", FromAbsent{}, claim_by(*other, "contender")));
  CHECK(opened(link).status == 1);
  CHECK(other->release("jobs", *lock.ts) == ReleaseResult::freed);
  CHECK(opened(link).status == 0);
}

TEST_CASE("a symbolic link that is set elsewhere leads to another file", "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto link = folder.path() / "current";
  for (const char* release : {"r1", "r2"}) fs::create_directory(folder.path() / release);
  const auto lead_to = [&](const char* release) {
    fs::remove(link);
    fs::create_directory_symlink(release, link);
  };
  lead_to("r1");
  const auto store = open_at(link / "locks.db");
  const LockRecord lock = held(*store, "jobs");
  lead_to("r1");
  store->ping("holder");

  SECTION("another one") {
    lead_to("r2");
    open_at(link / "locks.db");
  }
  SECTION("or to none") { fs::remove(link); }
  CHECK(thrown_by([&] { store->ping("holder"); }) == Errc::store_replaced);
  CHECK(thrown_by([&] { store->release("jobs", *lock.ts); }) == Errc::store_replaced);
}

TEST_CASE("a name that goes through a folder and back does not need that folder", "[sqlite][R1]") {
  const TemporaryFolder folder;
  fs::create_directory(folder.path() / "x");
  const auto store = open_at(folder.path() / "x" / ".." / "locks.db");
  const LockRecord lock = held(*store, "jobs");
  fs::remove(folder.path() / "x");
  CHECK_NOTHROW(store->ping("holder"));
  CHECK(store->release("jobs", *lock.ts) == ReleaseResult::freed);
}

TEST_CASE("a file with a second name is refused under both", "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto second = folder.path() / "second.db";
  const auto store = open_at(file);
  const LockRecord lock = held(*store, "jobs");
  fs::create_hard_link(file, second);
  check_unusable(file, "2 names");
  check_unusable(second, "2 names");

  // A process that had it open goes on, as no other process can come in.
  CHECK(store->inspect("jobs", Freshness::fresh).lock->ts == lock.ts);
  fs::remove(second);
  CHECK(opened(file).status == 1);
}

TEST_CASE("a file that is moved to its second name takes nothing more", "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto store = open_at(file);
  fs::create_hard_link(file, folder.path() / "second.db");
  fs::remove(file);
  const auto error = error_of([&] { store->ping("holder"); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::store_replaced);
  CHECK_THAT(error->what(), Catch::Contains("replaced or removed"));
}

TEST_CASE("a file that is mounted by itself is refused", "[sqlite][R1][as_root]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto mounted = folder.path() / "mounted.db";
  const LockRecord lock = held(*open_at(file), "jobs");
  std::ofstream(mounted).close();
  const Mount bound("none", file, mounted, MS_BIND);
  if (!bound.made()) return;
  check_unusable(mounted, "mounted by itself");
  CHECK(opened(file).status == 1);
}

TEST_CASE("a folder that is mounted in two places has one set of locks", "[sqlite][R1][as_root]") {
  const TemporaryFolder folder;
  const auto one = folder.path() / "one";
  const auto two = folder.path() / "two";
  fs::create_directory(one);
  fs::create_directory(two);
  const Mount bound("none", one, two, MS_BIND);
  if (!bound.made()) return;
  const auto store = open_at(one / "locks.db");
  const LockRecord lock = held(*store, "jobs");
  CHECK(opened(two / "locks.db").status == 1);
  CHECK(open_at(two / "locks.db")->release("jobs", *lock.ts) == ReleaseResult::freed);
  CHECK_FALSE(store->inspect("jobs", Freshness::fresh).lock->taken());
}

TEST_CASE("a file that is not regular is refused at once", "[sqlite]") {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  check_unusable(pipe, "no file");
  check_unusable("/dev/null", "no file");
  check_unusable("/dev/full", "no file");
  check_unusable(folder.path(), "is a folder");
  fs::create_directory_symlink(folder.path(), folder.path() / "link");
  check_unusable(folder.path() / "link", "is a folder");
}

TEST_CASE("a symbolic link to nothing is refused and makes nothing", "[sqlite]") {
  const TemporaryFolder folder;
  const auto link = folder.path() / "link.db";
  fs::create_symlink(folder.path() / "folder" / "absent.db", link);
  check_unusable(link, "not there");
  CHECK_FALSE(fs::exists(folder.path() / "folder"));
}

TEST_CASE("file systems that hosts may share are known by their numbers", "[sqlite]") {
  for (const unsigned long shared : {0x6969UL, 0xFF534D42UL, 0xFE534D42UL, 0x65735546UL}) {
    CHECK(shared_file_system(shared) != nullptr);
  }
  // ext4, xfs, btrfs, tmpfs, overlayfs, zfs
  for (const unsigned long local :
       {0xEF53UL, 0x58465342UL, 0x9123683EUL, 0x01021994UL, 0x794C7630UL, 0x2FC12FC1UL}) {
    CHECK(shared_file_system(local) == nullptr);
  }
}

TEST_CASE("a file system that hosts may share is refused, and nothing is made", "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto old = folder.path() / "locks.db";
  open_at(old);
  for (const long magic : {0x6969L, static_cast<long>(static_cast<int>(0xFF534D42))}) {
    claimed_magic = magic;
    const auto of_old = error_of([&] { open_at(old); });
    const auto of_new = error_of([&] { open_at(folder.path() / "new.db"); });
    claimed_magic.reset();
    for (const auto& error : {of_old, of_new}) {
      REQUIRE(error);
      CHECK(error->errc() == Errc::invalid_argument);
      CHECK_THAT(error->what(), Catch::Contains("other hosts may share"));
    }
  }
  CHECK_FALSE(fs::exists(folder.path() / "new.db"));
  CHECK_NOTHROW(open_at(old));
}

TEST_CASE("a file that cannot be looked at for a moment was not replaced", "[sqlite][R15]") {
  const TemporaryFolder outer;
  const auto folder = outer.path() / "locks";
  const auto aside = outer.path() / "aside";
  std::filesystem::create_directory(folder);
  const auto store = open_at(folder / "locks.db");
  const auto look = [&] { store->inspect("jobs", Freshness::fresh); };
  look();
  std::filesystem::rename(folder, aside);
  std::filesystem::create_directory_symlink(folder, folder);
  const auto error = error_of(look);
  std::filesystem::remove(folder);
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK_THAT(error->what(), Catch::Contains("cannot be looked at"));
  std::filesystem::rename(aside, folder);
  CHECK_FALSE(error_of(look));
}

TEST_CASE("a file that closes on a slow disk holds up no other file", "[sqlite][R12]") {
  const TemporaryFolder folder;
  open_at(folder.path() / "other.db");
  auto slow = open_at(folder.path() / "slow.db");
  held(*slow, "jobs");
  auto other = open_at(folder.path() / "other.db");
  const HeldSyncs held;
  std::atomic<bool> ended = false;
  boost::thread closing([&] { slow.reset(); });
  CHECK(comes([&] { return held.begun() == 1; }));
  boost::thread beside([&] {
    other.reset();
    ended = true;
  });
  CHECK(comes([&] { return ended.load(); }));
  HeldSyncs::let_all_go();
  closing.join();
  beside.join();
}

TEST_CASE("each file system that hosts may share is known by the kernel's number", "[sqlite][R1]") {
  // NFS, SMB, CIFS, SMB 2, AFS, OpenAFS, Coda, Ceph, Lustre, GPFS, GFS2, OCFS2, BeeGFS, 9P, FUSE,
  // vboxsf, vmhgfs
  for (const unsigned long shared :
       {0x6969UL, 0x517BUL, 0xFF534D42UL, 0xFE534D42UL, 0x6B414653UL, 0x5346414FUL, 0x73757245UL,
        0x00C36400UL, 0x0BD00BD0UL, 0x47504653UL, 0x01161970UL, 0x7461636FUL, 0x19830326UL,
        0x01021997UL, 0x65735546UL, 0x786F4256UL, 0xBACBACBCUL}) {
    CAPTURE(shared);
    CHECK(shared_file_system(shared) != nullptr);
  }
}

TEST_CASE("a file in whose folder's place a file is by now was replaced", "[sqlite][R15]") {
  const TemporaryFolder outer;
  const auto folder = outer.path() / "locks";
  fs::create_directory(folder);
  const auto store = open_at(folder / "locks.db");
  fs::rename(folder, outer.path() / "aside");
  std::ofstream(folder).close();
  const auto error = error_of([&] { store->inspect("jobs", Freshness::fresh); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::store_replaced);
  CHECK_THAT(error->what(), Catch::Contains("replaced or removed"));
}
