#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "distlock/distributed_lock.h"
#include "distlock/line.h"
#include "distlock/pinger.h"
#include "sqlite/file_under_fault.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

void fill(const fs::path& file) {
  std::ofstream out(file);
  const std::string block(1024, 'x');
  while (out << block << std::flush) {
  }
}

// Calls until one fails, and gives that failure: small writes may still find room.
template <class Call>
std::optional<Error> first_failure(const Call& call) {
  std::optional<Error> error;
  for (int i = 0; i < 5000 && !error; ++i) {
    error = error_of([&] { call(i); });
  }
  return error;
}

LockRecord stored(Store& store) { return *store.inspect("jobs", Freshness::fresh).lock; }

// Of a process of its own, whose files may not grow beyond 64 KiB: 0 if all is well.
int fill_up(const fs::path& file, const LockRecord& lock) {
  const rlimit limit{.rlim_cur = 64 * 1024, .rlim_max = 64 * 1024};
  std::signal(SIGXFSZ, SIG_IGN);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  const auto store = open_at(file);
  const auto failed = first_failure([&](int i) {
    Claim claim = claim_by(*store, "p");
    claim.why = std::string(5000, 'y');
    if (!store->claim("n" + std::to_string(i), FromAbsent{}, claim)) _exit(5);
  });
  if (!failed) return 2;
  // An error of the file system other than "full" may have struck after the commit.
  const bool known = failed->errc() == Errc::not_applied || failed->errc() == Errc::outcome_unknown;
  if (!known) return 3;
  return stored(*store).ts == lock.ts ? 0 : 4;
}

}  // namespace

TEST_CASE("a hold on a full disk stays until its deadline, and lives on when there is room",
          "[sqlite][R9][as_root]") {
  const TemporaryFolder folder;
  const Mount disk("tmpfs", "tmpfs", folder.path(), 0, "size=256k");
  if (!disk.made()) return;
  const auto file = folder.path() / "locks.db";
  const auto store = open_at(file);
  const auto pinger = std::make_shared<DistributedLockPinger>(Environment{.store = store},
                                                              PingerOptions{}, PingerDrive::caller);
  DistributedLock lock(pinger, "jobs");
  REQUIRE(lock.lock_try("x"));
  fill(folder.path() / "filler");
  const auto full = first_failure([&](int) { store->ping("another"); });
  REQUIRE(full);
  CHECK(full->errc() == Errc::not_applied);
  CHECK_THAT(full->what(), Catch::Contains("make room"));

  const SteadyTime deadline = lock.valid_until();
  pinger->ping_round();
  CHECK(lock.valid_until() == deadline);
  CHECK(lock.held());
  CHECK(opened(file, "mail").status == 69);
  fs::remove(folder.path() / "filler");
  pinger->ping_round();
  CHECK(lock.valid_until() > deadline);
  CHECK(opened(file).status == 1);
  CHECK(lock.unlock() == UnlockResult::released);
}

TEST_CASE("a file that may not grow further loses nothing that was confirmed", "[sqlite][R8]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const LockRecord lock = held(*open_at(file), "jobs");
  const pid_t child = fork();
  if (child == 0) {
    // Nothing may get out of here: this process would go on with the other tests.
    try {
      _exit(fill_up(file, lock));
    } catch (...) {
      _exit(9);
    }
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(opened(file).status == 1);
  const auto store = open_at(file);
  for (const auto& listed : store->list().locks) CHECK(listed.record);
  CHECK(store->release("jobs", *lock.ts) == ReleaseResult::freed);
}

TEST_CASE("a file that may not grow is 69 for the tool, and no signal", "[sqlite][process]") {
  ToolFixture fixture;
  // By way of a command, so that a shell can set the limit.
  const std::string limited = "ulimit -f 48; exec '" DISTLOCK_TOOL "' run -n --uri 'sqlite:" +
                              (fixture.folder.path() / "small.db").string() + "' x echo ran";
  CHECK(fixture.status({"run", "jobs", "--", "sh", "-c", limited}) == 69);
  CHECK_THAT(fixture.messages, Catch::Contains("small.db") && Catch::Contains("File too large"));
  CHECK(fixture.output.empty());
}

TEST_CASE("a file or folder that may not be written is 77, and works again when it may",
          "[sqlite][process]") {
  ToolFixture fixture;
  REQUIRE(fixture.status({"run", "jobs", "--", "true"}) == 0);
  const fs::path fault = GENERATE(as<fs::path>{}, "locks.db", ".");
  const auto place = fixture.folder.path() / fault;
  const auto before = fs::status(place).permissions();
  fs::permissions(place, fs::perms::owner_write, fs::perm_options::remove);
  CAPTURE(place);
  CHECK(fixture.status({"run", "jobs", "--", "echo", "ran"}) == 77);
  CHECK_THAT(fixture.messages, Catch::Contains("locks.db"));
  CHECK(fixture.output.empty());
  fs::permissions(place, before);
  CHECK(fixture.status({"run", "jobs", "--", "sh", "-c", "echo $DISTLOCK_FENCE"}) == 0);
  CHECK(fixture.output == "2\n");
}

TEST_CASE("a command whose folder is removed or whose file is replaced is ended with 75",
          "[sqlite][process][unsanitized][R9]") {
  ToolFixture fixture;
  const bool removed = GENERATE(true, false);
  const fs::path folder = fixture.folder.path() / "store";
  fs::create_directory(folder);
  const std::string uri = "sqlite:" + (folder / "locks.db").string();
  const auto holder = fixture.start({"run", "--uri", uri, "--takeover-after", "8s", "jobs", "--",
                                     "sh", "-c", "echo ready; exec cat"});
  REQUIRE(holder->next_output() == "ready");
  fs::rename(folder, fixture.folder.path() / "away");
  if (removed) fs::remove_all(fixture.folder.path() / "away");
  if (!removed) fs::create_directory(folder);
  if (!removed) open_at(folder / "locks.db");
  CHECK(holder->wait() == 75);
  CHECK(holder->rest_of_output().empty());
  CHECK_THAT(holder->rest_of_messages(), Catch::Contains("replaced or removed"));
  fs::create_directory(folder);
  CHECK(fixture.status({"run", "-n", "--uri", uri, "jobs", "--", "true"}) == 0);
}

namespace {

/// No file of this process may grow beyond so many bytes while it lives.
class GrowthLimit {
 public:
  explicit GrowthLimit(rlim_t most) {
    std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{.rlim_cur = most, .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~GrowthLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }
  GrowthLimit(const GrowthLimit&) = delete;
  GrowthLimit& operator=(const GrowthLimit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("a request for a place whose commit the disk fails has an unknown outcome",
          "[sqlite][line][R8]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  const auto store = open_at(file);
  held(*store, "jobs");
  const Claim claim = claim_by(*store, "next");
  const auto error = [&] {
    const GrowthLimit no_more(fs::file_size(file.string() + "-wal"));
    return error_of([&] { store->line()->stand("jobs", claim); });
  }();
  REQUIRE(error);
  CHECK(error->errc() == Errc::outcome_unknown);
  CHECK(store->line()->stand("jobs", claim).in_line);
}
