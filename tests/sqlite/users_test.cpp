// One SQLite file that several users of a group share, as docs/security.md says.
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>

#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_gate.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

// Numbers that no user and no group of a machine has.
constexpr uid_t kAnn = 1'912'001;
constexpr uid_t kBob = 1'912'002;
constexpr gid_t kGroup = 1'912'100;

bool may_be_others() {
  if (geteuid() == 0) return true;
  std::cout << "SKIPPED: this user cannot become others" << std::endl;
  return false;
}

void become(uid_t user, gid_t group) {
  if (setgroups(1, &group) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0) {
    _exit(101);
  }
  umask(0077);
}

/// A process of `user`, a member of `group`, that does something and ends.
class Member {
 public:
  /// `act` has its work to the end if it gives true.
  Member(uid_t user, gid_t group, const std::function<bool()>& act) : id_(fork()) {
    if (id_ != 0) return;
    // Nothing may get out of here: this process would go on with the other tests.
    try {
      become(user, group);
      _exit(act() ? 0 : 1);
    } catch (const Error& error) {
      _exit(error.errc() == Errc::permission_denied ? 77 : 102);
    } catch (...) {
      _exit(103);
    }
  }
  ~Member() {
    if (id_ > 0) status();
  }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  int status() {
    int status = -1;
    waitpid(id_, &status, 0);
    id_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  }

 private:
  pid_t id_;
};

int status_of(uid_t user, gid_t group, const std::function<bool()>& act) {
  return Member(user, group, act).status();
}

/// Has Ann hold "jobs" with the file open for as long as it lives.
class AnnHolds {
 public:
  explicit AnnHolds(const fs::path& file) {
    REQUIRE(pipe(go_.data()) == 0);
    REQUIRE(pipe(told_.data()) == 0);
    ann_.emplace(kAnn, kGroup, [&] { return hold(file); });
    close(go_[0]);
    close(told_[1]);
    char byte = 0;
    CHECK(read(told_[0], &byte, 1) == 1);
  }
  ~AnnHolds() {
    close(go_[1]);
    close(told_[0]);
    CHECK(ann_->status() == 0);
  }
  AnnHolds(const AnnHolds&) = delete;
  AnnHolds& operator=(const AnnHolds&) = delete;

 private:
  bool hold(const fs::path& file) const {
    close(go_[1]);
    const auto store = open_at(file);
    const LockRecord lock = held(*store, "jobs");
    SqliteGate(file.string()).make();
    const auto listening = store->line()->listen("ann", [](std::string_view) {});
    char byte = 0;
    if (write(told_[1], "x", 1) != 1 || read(go_[0], &byte, 1) != 0) return false;
    return store->release("jobs", *lock.ts) == ReleaseResult::freed;
  }

  std::array<int, 2> go_{};
  std::array<int, 2> told_{};
  std::optional<Member> ann_;
};

/// A folder of the group with an empty file that its members may write.
struct SharedFolder {
  explicit SharedFolder(mode_t mode) {
    std::ofstream(file).close();
    for (const fs::path& path : {folder.path(), file}) {
      REQUIRE(chown(path.c_str(), static_cast<uid_t>(-1), kGroup) == 0);
    }
    REQUIRE(chmod(file.c_str(), 0660) == 0);
    REQUIRE(chmod(folder.path().c_str(), mode) == 0);
  }

  TemporaryFolder folder;
  fs::path file = folder.path() / "locks.db";
};

void check_of_group(const fs::path& path) {
  struct stat status {};
  CAPTURE(path);
  REQUIRE(stat(path.c_str(), &status) == 0);
  CHECK(status.st_gid == kGroup);
  CHECK((status.st_mode & 0777) == 0660);
}

bool claims(const fs::path& file, const std::string& name) {
  const auto store = open_at(file);
  const LockRecord lock = held(*store, name);
  return store->release(name, *lock.ts) == ReleaseResult::freed;
}

bool gate_lets_in(const fs::path& file) {
  SqliteGate gate(file.string());
  const bool in = gate.enter(since_boot() + 60s);
  if (in) gate.leave();
  return in;
}

bool bell_is_usable(const fs::path& file) {
  return SqlitePage(file.string(), "-bell", "distlock bell 1\n").open();
}

}  // namespace

TEST_CASE("users of one group share a file in a folder with the set-group-ID bit",
          "[sqlite][R1][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(02770);
  const fs::path& file = shared.file;
  {
    const AnnHolds ann(file);
    for (const char* const end : {"", "-wal", "-shm", "-gate", "-bell"}) {
      check_of_group(file.string() + end);
    }
    CHECK(status_of(kBob, kGroup, [&] {
            return open_at(file)->inspect("jobs", Freshness::fresh).lock->taken();
          }) == 0);
    CHECK(status_of(kBob, kGroup, [&] { return claims(file, "others"); }) == 0);
    CHECK(status_of(kBob, kGroup, [&] { return gate_lets_in(file); }) == 0);
    CHECK(status_of(kBob, kGroup, [&] { return bell_is_usable(file); }) == 0);
  }
  CHECK(status_of(kBob, kGroup, [&] { return claims(file, "bobs"); }) == 0);
  CHECK(status_of(kAnn, kGroup, [&] { return claims(file, "anns"); }) == 0);
}

TEST_CASE("a user who is not of the group is refused and leaves nothing behind",
          "[sqlite][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(02770);
  CHECK(status_of(kBob, kBob, [&] { return claims(shared.file, "jobs"); }) == 77);
  CHECK(fs::file_size(shared.file) == 0);
}

TEST_CASE("a file that cannot be looked at for a while was not replaced",
          "[sqlite][R15][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(02770);
  CHECK(status_of(kBob, kGroup, [&] {
          const fs::path folder = shared.folder.path() / "of bob";
          fs::create_directory(folder);
          const auto store = open_at(folder / "locks.db");
          const auto look = [&] { store->inspect("jobs", Freshness::fresh); };
          look();
          fs::permissions(folder, fs::perms::none);
          const auto error = error_of(look);
          fs::permissions(folder, fs::perms::owner_all);
          return error && error->errc() == Errc::permission_denied && !error_of(look);
        }) == 0);
}

TEST_CASE("a file beside the database that another user withholds is named", "[sqlite][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(0770);
  const AnnHolds ann(shared.file);
  CHECK(status_of(kBob, kGroup, [&] {
          const auto error = error_of([&] { open_at(shared.file); });
          const std::string what = error ? error->what() : "";
          return error && error->errc() == Errc::permission_denied &&
                 what.find("locks.db-wal\"") != std::string::npos &&
                 what.find("docs/security.md") != std::string::npos;
        }) == 0);
}

TEST_CASE("the shared memory of a database that another user withholds is named",
          "[sqlite][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(02770);
  const AnnHolds ann(shared.file);
  REQUIRE(chmod((shared.file.string() + "-shm").c_str(), 0600) == 0);
  CHECK(status_of(kBob, kGroup, [&] {
          const auto error = error_of([&] { open_at(shared.file); });
          const std::string what = error ? error->what() : "";
          return error && what.find("locks.db-shm\"") != std::string::npos;
        }) == 0);
}

TEST_CASE("files beside a database are its group's, also where the folder does not say so",
          "[sqlite][R12][R19][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(0770);
  const AnnHolds ann(shared.file);
  for (const char* const end : {"-gate", "-bell"}) check_of_group(shared.file.string() + end);
}

TEST_CASE("a file that a user may only read is refused when it is opened", "[sqlite][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(02770);
  REQUIRE(status_of(kAnn, kGroup, [&] { return claims(shared.file, "anns"); }) == 0);
  REQUIRE(chmod(shared.file.c_str(), 0440) == 0);
  CHECK(status_of(kBob, kGroup, [&] {
          const auto error = error_of([&] { open_at(shared.file); });
          const std::string what = error ? error->what() : "";
          return error && error->errc() == Errc::permission_denied &&
                 what.find("locks.db\": the file is read-only; make it writable") !=
                     std::string::npos;
        }) == 0);
}

TEST_CASE("a bell that a user may only read is left alone, and that user waits without it",
          "[sqlite][bell][R19][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(02770);
  const fs::path bell = shared.file.string() + "-bell";
  const AnnHolds ann(shared.file);
  REQUIRE(chmod(bell.c_str(), 0440) == 0);
  CHECK(status_of(kBob, kGroup, [&] {
          const auto store = open_at(shared.file);
          const auto listening = store->line()->listen("bob", [](std::string_view) {});
          Claim claim = claim_by(*store, "bob");
          claim.ts =
              *token_from_hex("4d7f0000000000000000bb01");  // Not the one that Ann counts up to.
          const Standing standing = store->line()->stand("jobs", claim);
          const bool rang = !error_of([&] { store->line()->ring("jobs", {"ann"}); });
          return standing.in_line && rang && !bell_is_usable(shared.file);
        }) == 0);
  struct stat status {};
  REQUIRE(stat(bell.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0440);
}

TEST_CASE("files beside a database are its owner's, also where root makes them",
          "[sqlite][R12][R19][R23][as_root]") {
  if (!may_be_others()) return;
  const SharedFolder shared(02770);
  REQUIRE(chown(shared.file.c_str(), kAnn, kGroup) == 0);
  REQUIRE(chmod(shared.file.c_str(), 0600) == 0);
  // The log is there as long as a process has the database open.
  std::ofstream(shared.file.string() + "-wal").close();
  SqliteGate(shared.file.string()).make();
  struct stat status {};
  REQUIRE(stat((shared.file.string() + "-gate").c_str(), &status) == 0);
  CHECK(status.st_uid == kAnn);
  CHECK(status_of(kAnn, kGroup, [&] { return gate_lets_in(shared.file); }) == 0);
}
