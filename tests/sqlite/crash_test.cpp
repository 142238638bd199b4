#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <random>

#include "sqlite/file_under_fault.h"
#include "support/seed.h"

using namespace distlock;
using namespace distlock::testing;
namespace fs = std::filesystem;

namespace {

// A process that claims and frees "jobs" again and again, and tells each fence that it was given.
class Claimer {
 public:
  explicit Claimer(const fs::path& file) {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    id_ = fork();
    if (id_ == 0) claim_for_ever(file, ends[1]);
    close(ends[1]);
    fences_ = ends[0];
  }
  ~Claimer() { kill_it(); }
  Claimer(const Claimer&) = delete;
  Claimer& operator=(const Claimer&) = delete;

  /// The next fence that it got, or 0 if it has ended.
  Fence next() const {
    Fence fence = 0;
    return read(fences_, &fence, sizeof fence) == sizeof fence ? fence : 0;
  }
  void kill_it() {
    if (id_ < 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = -1;
  }
  /// The last fence that it told of, once it was killed.
  Fence last(Fence so_far) const {
    while (const Fence fence = next()) so_far = fence;
    return so_far;
  }

 private:
  // Nothing may get out of here: this process would go on with the other tests.
  [[noreturn]] static void claim_for_ever(const fs::path& file, int told) {
    while (true) {
      try {
        const auto store = open_at(file);
        while (true) claim_once(*store, told);
      } catch (const Error&) {
        // As of a machine that stands still for longer than a call may take.
      } catch (...) {
        _exit(1);
      }
    }
  }
  static void claim_once(Store& store, int told) {
    const auto found = store.inspect("jobs", Freshness::fresh).lock;
    if (found && found->taken()) {
      store.release("jobs", *found->ts);
      return;
    }
    const ClaimBasis basis = found ? ClaimBasis{FromFree{found->ts}} : FromAbsent{};
    const auto lock = store.claim("jobs", basis, claim_by(store, "claimer"));
    if (!lock) return;
    if (write(told, &lock->fence, sizeof lock->fence) < 0) _exit(2);
    store.release("jobs", *lock->ts);
  }

  pid_t id_ = -1;
  int fences_ = -1;
};

fs::path log_of(const fs::path& file) { return file.string() + "-wal"; }

// Kills a claimer when it has told of some claims. Gives the last of which it told.
Fence crash(const fs::path& file, unsigned after) {
  Claimer claimer(file);
  Fence told = 0;
  for (unsigned i = 0; i <= after; ++i) {
    told = claimer.next();
    REQUIRE(told > 0);
  }
  claimer.kill_it();
  return claimer.last(told);
}

void check_sound(const fs::path& file) {
  CHECK(SqliteFile(file.string())
            .integer("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") ==
        1);
}

void flip(const fs::path& file, std::streamoff place) {
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(place);
  const char before = static_cast<char>(bytes.get());
  bytes.seekp(place);
  bytes.put(static_cast<char>(~before));
}

std::optional<LockRecord> jobs_in(const fs::path& file) {
  return open_at(file)->inspect("jobs", Freshness::fresh).lock;
}

// Frees what a claimer was killed with.
void free_jobs(const fs::path& file) {
  const auto lock = jobs_in(file);
  if (lock->taken()) REQUIRE(open_at(file)->release("jobs", *lock->ts) == ReleaseResult::freed);
}

}  // namespace

TEST_CASE("confirmed writes are there after a kill in the middle of writes", "[sqlite][R10]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  std::mt19937 random(seed_from("DISTLOCK_CRASH_SEED"));
  Fence before = 0;
  for (int round = 0; round < 10; ++round) {
    const Fence told = crash(file, static_cast<unsigned>(random() % 40));
    CHECK(told > before);
    CHECK(fs::file_size(log_of(file)) > 0);
    const auto lock = jobs_in(file);
    REQUIRE(lock);
    // One more may have been committed and not told.
    CHECK((lock->fence == told || lock->fence == told + 1));
    check_sound(file);
    free_jobs(file);
    before = lock->fence;
  }
}

TEST_CASE("a log that ends anywhere or is damaged leaves the state of an earlier commit",
          "[sqlite][R14]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "locks.db";
  open_at(file);  // Closed again, so that the file has its tables without the log.
  std::mt19937 random(seed_from("DISTLOCK_CRASH_SEED"));
  const Fence told = crash(file, 20);
  const auto whole = fs::file_size(log_of(file));
  Fence least = told;
  for (int round = 0; round < 20; ++round) {
    const auto copy = folder.path() / ("copy" + std::to_string(round) + ".db");
    fs::copy_file(file, copy);
    fs::copy_file(log_of(file), log_of(copy));
    const auto place = random() % whole;
    if (round % 2 == 0) fs::resize_file(log_of(copy), place);
    if (round % 2 == 1) flip(log_of(copy), place);
    const auto lock = jobs_in(copy);
    if (lock) CHECK(lock->fence <= told + 1);
    least = std::min(least, lock ? lock->fence : 0);
    check_sound(copy);
  }
  CHECK(least < told);
}
