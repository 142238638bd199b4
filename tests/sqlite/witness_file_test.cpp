// The file of the witnesses of processes, and the threads that look at it (R23).
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "distlock/distributed_lock.h"
#include "processes.h"
#include "sqlite/system_hooks.h"
#include "sqlite/witness_scene.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_deaths.h"
#include "stores/sqlite/sqlite_witness.h"
#include "support/captured_log.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

/// A file system in which a mapping keeps no lock. Below it a tmpfs, since it cannot stand on one
/// of its kind.
class Overlay {
 public:
  explicit Overlay(const fs::path& folder) : below_("tmpfs", "tmpfs", folder) {
    for (const auto* part : {"lower", "upper", "work", "top"}) fs::create_directory(folder / part);
    const std::string options = "lowerdir=" + (folder / "lower").string() +
                                ",upperdir=" + (folder / "upper").string() +
                                ",workdir=" + (folder / "work").string();
    top_.emplace("overlay", "overlay", folder / "top", 0, options.c_str());
  }

  bool made() const { return below_.made() && top_->made(); }

 private:
  Mount below_;
  std::optional<Mount> top_;
};

/// The descriptor of this process for that file.
int descriptor_of(const fs::path& file) {
  for (const auto& one : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(one.path(), gone) == file) return std::stoi(one.path().filename());
  }
  FAIL("it has none");
  return -1;
}

}  // namespace

TEST_CASE("where a mapping keeps no lock, as on overlayfs, pings judge a holder",
          "[sqlite][R23][R1][as_root]") {
  const auto rule = GENERATE(WitnessRule::children, WitnessRule::process);
  const TemporaryFolder folder;
  const Overlay overlay(folder.path());
  if (!overlay.made()) return;
  const Scene scene(folder.path() / "top");
  const auto holder = scene.holder({.witness = rule}, [&] {
    scene.told.tell('h');
    close_range(3, ~0U, 0);
    while (true) raise(SIGSTOP);
  });
  holder->await_stop();
  CHECK(scene.tried() == 0);
  CHECK_FALSE(open_at(scene.path())->list().pings.at(0).record->ended);
}

TEST_CASE("a process without a witness states none before it begins anew", "[sqlite][R23][R1]") {
  const Room room;
  SqliteWitness witness = room.witness();
  fs::create_directory(room.file);
  CHECK_FALSE(witness.statement_of("me"));
  fs::remove(room.file);
  // Its children of now would not keep it.
  CHECK_FALSE(witness.statement_of("me"));
  CHECK(witness.statement_of("another"));
  witness.give_up("me");
  CHECK(witness.statement_of("me"));
}

TEST_CASE("processes that begin at once all have witnesses", "[sqlite][R23]") {
  const Room room;
  const Told told;
  const Told go;
  std::vector<std::unique_ptr<Child>> processes;
  for (int i = 0; i < 8; ++i) {
    processes.push_back(std::make_unique<Child>([&] {
      SqliteWitness witness = room.witness();
      go.next();
      told.tell(witness.statement_of("me") ? 'y' : 'n');
    }));
  }
  for (int i = 0; i < 8; ++i) go.tell('g');
  for (int i = 0; i < 8; ++i) CHECK(told.next() == 'y');
}

TEST_CASE("a process whose witnesses' file is removed before it has a lock takes one in the next",
          "[sqlite][R23]") {
  const Room room;
  SqliteWitness witness = room.witness();
  bool removed = false;
  const BeforeLocking hook([&] { removed = fs::remove(room.file); });
  const std::string stated = witness.statement_of("me").value_or("");
  REQUIRE(removed);
  const SqliteWitness others = room.witness();
  CHECK_FALSE(others.has_ended(stated));
  witness.give_up("me");
  CHECK(others.has_ended(stated));
}

TEST_CASE("a witness whose lock is no longer there is stated no more", "[sqlite][R23][R1]") {
  const Room room;
  SqliteWitness witness = room.witness();
  REQUIRE(witness.statement_of("me"));
  struct flock all {};
  all.l_type = F_UNLCK;
  REQUIRE(fcntl(descriptor_of(room.file), F_OFD_SETLK, &all) == 0);
  CHECK_FALSE(witness.statement_of("me"));
}

TEST_CASE("the witnesses' file stays when the last process has closed the database",
          "[sqlite][R23]") {
  const Scene scene;
  {
    const auto pinger =
        std::make_shared<DistributedLockPinger>(Environment{.store = open_at(scene.path())});
    DistributedLock lock(pinger, "jobs");
    REQUIRE(lock.lock_try("x"));
  }
  CHECK(fs::exists(scene.witness()));
}

TEST_CASE("the share of a witness is for a keeper alone, and for no later program",
          "[sqlite][R23]") {
  const Room room;
  SqliteWitness witness = room.witness();
  REQUIRE(witness.statement_of("me"));
  const int shared = witness.share("me");
  REQUIRE(shared >= 0);
  CHECK((fcntl(shared, F_GETFD) & FD_CLOEXEC) != 0);
  CHECK(close(shared) == 0);
}

TEST_CASE("a number that the program has given to another file is not closed", "[sqlite][R23]") {
  const Room room;
  const auto give_number = [&](SqliteWitness& witness) {
    REQUIRE(witness.statement_of("me"));
    const int number = descriptor_of(room.file);
    REQUIRE(dup2(STDOUT_FILENO, number) == number);
    return number;
  };
  SECTION("when it is given up") {
    SqliteWitness witness = room.witness();
    const int number = give_number(witness);
    witness.give_up("me");
    CHECK(close(number) == 0);
  }
  SECTION("when the store is closed") {
    std::optional<SqliteWitness> witness(std::in_place, room.database, boot_clock().boot,
                                         WitnessRule::children);
    const int number = give_number(*witness);
    witness.reset();
    CHECK(close(number) == 0);
  }
  SECTION("nor shared") {
    SqliteWitness witness = room.witness();
    const int number = give_number(witness);
    CHECK(witness.share("me") < 0);
    CHECK(close(number) == 0);
  }
}

TEST_CASE("a statement of another namespace of processes says nothing", "[sqlite][R23][R1]") {
  const Room room;
  SqliteWitness witness = room.witness();
  std::string stated = witness.statement_of("me").value_or("");
  witness.give_up("me");
  REQUIRE(witness.has_ended(stated));
  const std::string own = pid_namespace();
  const std::size_t at = stated.find(own);
  REQUIRE(at != stated.npos);
  stated.replace(at, own.size(), "pid:[1]");
  CHECK_FALSE(witness.has_ended(stated));
}

TEST_CASE("a statement says whether processes with the hold's token count", "[sqlite][R23]") {
  const Room room;
  SqliteWitness alone = room.witness();
  SqliteWitness with_tokens = room.witness(WitnessRule::command);
  const std::string stated = with_tokens.statement_of("me").value_or("");
  CHECK(SqliteWitness::counts_tokens(stated));
  CHECK_FALSE(SqliteWitness::counts_tokens(alone.statement_of("me").value_or("")));
  CHECK_FALSE(alone.has_ended(stated));
  with_tokens.give_up("me");
  CHECK(alone.has_ended(stated));
}

TEST_CASE("another thing in the place of a witness is left alone, and pings judge",
          "[sqlite][R23]") {
  const Scene scene;
  open_at(scene.path());
  std::ofstream(scene.witness()) << "theirs";
  scene.holder()->end();
  CHECK(scene.tried() == 0);
  CHECK(fs::file_size(scene.witness()) == 6);
}

TEST_CASE("a statement that is none of this boot's and this file's says nothing",
          "[sqlite][R23][R14]") {
  const Scene scene;
  open_at(scene.path());
  SqliteWitness witness(scene.path().string(), boot_clock().boot, WitnessRule::children);
  const std::string own = witness.statement_of("me").value_or("");
  REQUIRE_FALSE(own.empty());
  const std::string file = own.substr(0, own.rfind('/') + 1);
  const std::string boot = boot_clock().boot;
  CHECK_FALSE(witness.has_ended(own));
  CHECK(witness.has_ended(file + "7"));
  for (const std::string& none : {std::string(), std::string("x"), file, file + "-7", file + "7x",
                                  file + "x", file + "+token", file + "99999999999999999999",
                                  "another" + file + "7", boot, boot + "1:2/7", boot + "/7"}) {
    CAPTURE(none);
    CHECK_FALSE(witness.has_ended(none));
  }
}

TEST_CASE("the descriptor that programs inherit is out of the way of those that scripts use",
          "[sqlite][R23][R1]") {
  const Room room;
  const auto rule = GENERATE(WitnessRule::children, WitnessRule::command);
  SqliteWitness witness = room.witness(rule);
  REQUIRE(witness.statement_of("me"));
  // A script may close any number of one digit, or give it to a file of its own.
  CHECK(descriptor_of(room.file) >= 100);
}

TEST_CASE("a process whose witnesses' file cannot be used says so, once", "[sqlite][R23]") {
  const Room room;
  fs::create_directory(room.file);
  Captured log;
  SqliteWitness witness = room.witness();
  CHECK_FALSE(witness.statement_of("me"));
  CHECK_FALSE(witness.statement_of("another"));
  CHECK(log.count(severity_level::warning, "cannot be used") == 1);
}
