#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "contract/contract.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_errors.h"
#include "support/sqlite_file.h"
#include "support/temporary_folder.h"
#include "unit/stores/sqlite/sqlite_refusal.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

class Umask {
 public:
  explicit Umask(mode_t mask) : before_(umask(mask)) {}
  ~Umask() { umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t before_;
};

// A small file system of its own; only root may have one.
class SmallDisk {
 public:
  explicit SmallDisk(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::create_directory(folder_);
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=256k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  bool make_read_only() const {
    return mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

void fill(const std::filesystem::path& file) {
  std::ofstream out(file);
  const std::string block(1024, 'x');
  while (out << block << std::flush) {
  }
}

}  // namespace

TEST_CASE("a new file is private, whatever the umask", "[sqlite]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  {
    const Umask mask(GENERATE(mode_t{0}, mode_t{0077}, mode_t{0277}));
    held(*open_file(file), "jobs");
  }
  CHECK(mode_of(file) == 0600);
}

TEST_CASE("nothing but the file is left behind by opening and closing", "[sqlite]") {
  const TemporaryFolder folder;
  held(*open_file(folder.path() / "locks.db"), "jobs");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  CHECK(files == 1);
}

TEST_CASE("the file says whose it is, of which version, and is written ahead", "[sqlite]") {
  const TemporaryFolder folder;
  const auto store = open_file(folder.path() / "locks.db");
  SqliteFile file((folder.path() / "locks.db").string());
  CHECK(file.integer("PRAGMA application_id") == 0x646c636b);
  CHECK(file.integer("PRAGMA user_version") == 1);
  CHECK(file.integer("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1);
}

TEST_CASE("a file of ours that is not written ahead, as a copy by VACUUM INTO, is so once opened",
          "[sqlite][R8]") {
  const TemporaryFolder folder;
  auto path = folder.path() / "locks.db";
  held(*open_file(path), "jobs");
  SECTION("a copy") {
    const auto copy = folder.path() / "copy.db";
    SqliteFile(path.string()).execute("VACUUM INTO '" + copy.string() + "'");
    path = copy;
  }
  SECTION("another mode") { SqliteFile(path.string()).execute("PRAGMA journal_mode = delete"); }
  const auto store = open_file(path);
  CHECK_NOTHROW(store->ping("holder"));
  CHECK(store->inspect("jobs", Freshness::fresh).lock->taken());
  CHECK(SqliteFile(path.string())
            .integer("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1);
}

TEST_CASE("names that are special to SQLite are files like others", "[sqlite]") {
  const TemporaryFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  held(*open_store(ConnectionString("sqlite::memory:")), "jobs");
  const auto lock =
      open_store(ConnectionString("sqlite::memory:"))->inspect("jobs", Freshness::fresh).lock;
  std::filesystem::current_path(before);
  CHECK(lock);
}

TEST_CASE("a file that is replaced while open takes nothing more", "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_file(path);
  const LockRecord lock = held(*store, "jobs");
  const Claim claim = claim_by(*store, "contender");
  std::filesystem::rename(path, folder.path() / "moved.db");
  const bool another_is_there = GENERATE(false, true);
  if (another_is_there) std::ofstream(path).close();

  for (const std::function<void()>& call : std::vector<std::function<void()>>{
           [&] { store->claim("mail", FromAbsent{}, claim); },
           [&] { store->release("jobs", *lock.ts); }, [&] { store->ping("holder"); },
           [&] { store->inspect("jobs", Freshness::fresh); }}) {
    CHECK(failure_of(path.string(), call).first == Errc::store_replaced);
  }
}

TEST_CASE("a file whose write-ahead log is removed while open takes nothing more", "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto link = folder.path() / "link.db";
  open_file(path);
  std::filesystem::create_symlink(path, link);
  const auto store = open_file(GENERATE(false, true) ? link : path);
  held(*store, "jobs");

  SECTION("one of its files") { std::filesystem::remove(path.string() + GENERATE("-wal", "-shm")); }
  SECTION("both, so that who opens it now begins another log") {
    std::filesystem::remove(path.string() + "-wal");
    std::filesystem::remove(path.string() + "-shm");
    open_file(path)->ping("another");
  }
  const auto failed = failure_of(".db", [&] { store->ping("holder"); });
  CHECK(failed.first == Errc::store_replaced);
  CHECK_THAT(failed.second, Catch::Contains("replaced or removed"));
}

TEST_CASE("a write-ahead log that is removed before the first call is missed all the same",
          "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_file(path);
  std::filesystem::remove(path.string() + GENERATE("-wal", "-shm"));
  CHECK(failure_of(".db", [&] { store->ping("holder"); }).first == Errc::store_replaced);
}

TEST_CASE("a writer that waits too long changes nothing", "[sqlite]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_store(ConnectionString("sqlite:" + path.string()),
                                {.call_limit = std::chrono::milliseconds{10}});
  const LockRecord lock = held(*store, "jobs");
  SqliteFile other(path.string());
  other.execute("BEGIN IMMEDIATE");
  const auto failed = failure_of(path.string(), [&] { store->release("jobs", *lock.ts); });
  CHECK(failed.first == Errc::not_applied);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->taken());
  other.execute("COMMIT");
  CHECK(store->release("jobs", *lock.ts) == ReleaseResult::freed);
}

TEST_CASE("processes that open a file in one boot share its clock", "[sqlite][R4]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_file(path);
  const StoreNow now = store->list().now;
  CHECK(now.steady);
  CHECK(now.clock == boot_clock().name);
  // The kernel gives the number of a time namespace anew.
  struct stat time_namespace {};
  REQUIRE(stat("/proc/self/ns/time", &time_namespace) == 0);
  CHECK_THAT(now.clock, !Catch::Contains(std::to_string(time_namespace.st_ino)));

  SqliteFile file(path.string());
  CHECK(file.integer("SELECT count(*) FROM clocks") == 1);
  file.execute("UPDATE clocks SET epoch = epoch + 3600000");
  // As if the wall clock had been stepped before the file was first opened: those who come later
  // go by the file and not by their own wall clock.
  CHECK(open_file(path)->list().now.time >= now.time + std::chrono::hours{1});
}

TEST_CASE("a ping by another clock of one boot stays, one of another boot goes a day late",
          "[sqlite][R4][R13]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_file(path);
  const StoreNow now = store->list().now;
  const std::string boot = now.unrelated.front();
  REQUIRE((boot.size() == 37 && now.clock.starts_with(boot)));
  SqliteFile file(path.string());
  const auto put = [&](const std::string& process, const std::string& clock) {
    const StoreTime ping = now.time - std::chrono::hours{100 * 24};
    file.put(kLockPings, with(ping_document(process, ping), "clock", clock));
  };
  put("beside", boot + "+1ns");
  put("of an older version", boot + "4026531834");
  put("in a container", "container/00000000-0000-0000-0000-000000000000/+0ns");
  put("of another boot", "00000000-0000-0000-0000-000000000000/+0ns");
  CHECK(store->forget_pings(std::chrono::days{4}) == 1);
  CHECK(file.raw(kLockPings, "beside"));
  CHECK(file.raw(kLockPings, "of an older version"));
  CHECK(file.raw(kLockPings, "in a container"));
  CHECK_FALSE(file.raw(kLockPings, "of another boot"));
}

TEST_CASE("a ping whose process is no text is not forgotten", "[sqlite][R13][R14]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_file(path);
  SqliteFile file(path.string());
  file.execute("INSERT INTO lockpings(_id, ping) VALUES(5, 0), ('old', 0)");
  CHECK(store->forget_pings(std::chrono::days{4}) == 1);
  CHECK(file.integer("SELECT _id FROM lockpings") == 5);
}

TEST_CASE("each error of SQLite is certain or unknown as it should be", "[sqlite][R8]") {
  CHECK(errc_of(SQLITE_BUSY_TIMEOUT, Effect::writes, 0) == Errc::not_applied);
  CHECK(errc_of(SQLITE_FULL, Effect::writes, 0) == Errc::not_applied);
  CHECK(errc_of(SQLITE_READONLY_DIRECTORY, Effect::writes, 0) == Errc::permission_denied);
  CHECK(errc_of(SQLITE_READONLY_DBMOVED, Effect::writes, 0) == Errc::store_replaced);
  CHECK(errc_of(SQLITE_CONSTRAINT_COMMITHOOK, Effect::writes, 0) == Errc::store_replaced);
  CHECK(errc_of(SQLITE_CANTOPEN, Effect::writes, EACCES) == Errc::permission_denied);
  CHECK(errc_of(SQLITE_CANTOPEN, Effect::writes, EPERM) == Errc::permission_denied);
  CHECK(errc_of(SQLITE_CANTOPEN, Effect::writes, EROFS) == Errc::permission_denied);
  CHECK(errc_of(SQLITE_CANTOPEN, Effect::writes, EMFILE) == Errc::not_applied);
  CHECK(errc_of(SQLITE_NOTADB, Effect::reads, 0) == Errc::bad_record);
  CHECK(errc_of(SQLITE_IOERR_FSYNC, Effect::writes, 0) == Errc::outcome_unknown);
  CHECK(errc_of(SQLITE_IOERR_READ, Effect::reads, 0) == Errc::not_applied);
  CHECK(errc_of(SQLITE_NOMEM, Effect::writes, 0) == Errc::outcome_unknown);
}

TEST_CASE("a full disk changes nothing and loses nothing", "[sqlite][R8][as_root]") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path() / "disk");
  if (!disk.mounted()) {
    WARN("NOT TESTED: a full disk; mounting one takes root");
    return;
  }
  const auto path = folder.path() / "disk" / "locks.db";
  const auto store = open_file(path);
  const LockRecord lock = held(*store, "jobs");
  fill(folder.path() / "disk" / "filler");
  std::optional<Errc> failed;
  for (int i = 0; i < 1000 && !failed; ++i) {
    try {
      Claim claim = claim_by(*store, "p");
      claim.why = std::string(5000, 'y');
      const bool granted = store->claim("n" + std::to_string(i), FromAbsent{}, claim).has_value();
      CHECK(granted);
    } catch (const Error& error) {
      failed = error.errc();
    }
  }
  CHECK(failed == Errc::not_applied);
  CHECK(store->inspect("jobs", Freshness::fresh).lock->ts == lock.ts);
  std::filesystem::remove(folder.path() / "disk" / "filler");
  CHECK(store->release("jobs", *lock.ts) == ReleaseResult::freed);
}

TEST_CASE("a read-only disk is refused as a matter of permission", "[sqlite][as_root]") {
  const TemporaryFolder folder;
  const SmallDisk disk(folder.path() / "disk");
  if (!disk.mounted()) {
    WARN("NOT TESTED: a read-only disk; mounting one takes root");
    return;
  }
  open_file(folder.path() / "disk" / "locks.db");
  REQUIRE(disk.make_read_only());
  CHECK(refusal_of(folder.path() / "disk" / "locks.db").first == Errc::permission_denied);
  CHECK(refusal_of(folder.path() / "disk" / "new.db").first == Errc::permission_denied);
}
