// A forked child that opens a SQLite file which its parent had open at the fork (R16).
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <mutex>
#include <optional>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "process/tool_fixture.h"
#include "support/busy_threads.h"
#include "support/forked_child.h"
#include "support/leave.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

/// A child that takes a step each time its parent says so, and says when it is done.
class Child {
 public:
  /// Each step gives whether all is well.
  explicit Child(const std::vector<std::function<bool()>>& steps) {
    REQUIRE(pipe(orders_.data()) == 0);
    REQUIRE(pipe(answers_.data()) == 0);
    id_ = fork();
    REQUIRE(id_ >= 0);
    if (id_ != 0) return;
    alarm(60);
    for (const auto& step : steps) {
      char order = 0;
      if (read(orders_[0], &order, 1) != 1) leave(2);
      const char well = !thrown_by([&] { order = step() ? 'y' : 'n'; }) ? order : 'e';
      if (write(answers_[1], &well, 1) != 1) leave(3);
    }
    leave(0);
  }
  ~Child() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    for (const int end : {orders_[0], orders_[1], answers_[0], answers_[1]}) close(end);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// 'y': all is well; 'n': it is not; 'e': an error.
  char step() const {
    char answer = 0;
    REQUIRE(write(orders_[1], "x", 1) == 1);
    REQUIRE(read(answers_[0], &answer, 1) == 1);
    return answer;
  }

 private:
  std::array<int, 2> orders_{};
  std::array<int, 2> answers_{};
  pid_t id_ = -1;
};

/// A file that this process has open, and has locked as POSIX has it.
struct OwnFile {
  explicit OwnFile(fs::path its_path)
      : path(std::move(its_path)), descriptor(open(path.c_str(), O_RDWR | O_CREAT, 0600)) {
    struct flock lock {
      .l_type = F_WRLCK, .l_whence = SEEK_SET
    };
    locked = fcntl(descriptor, F_SETLK, &lock) == 0;
  }

  bool is_as_it_was() const {
    struct stat by_path {};
    struct stat by_descriptor {};
    // Asked for the open file, and so in the way of the process's own lock.
    struct flock other {
      .l_type = F_WRLCK, .l_whence = SEEK_SET
    };
    return locked && stat(path.c_str(), &by_path) == 0 && fstat(descriptor, &by_descriptor) == 0 &&
           by_path.st_ino == by_descriptor.st_ino && fcntl(descriptor, F_OFD_GETLK, &other) == 0 &&
           other.l_type == F_WRLCK;
  }

  fs::path path;
  int descriptor;
  bool locked = false;
};

// Of a module that was loaded before the library: all of its handlers for forks come later.
std::mutex of_module;
std::atomic<bool> module_is_loaded = false;

__attribute__((constructor(101))) void load_module() {
  const auto take = [] {
    if (module_is_loaded) of_module.lock();
  };
  const auto give = [] {
    if (module_is_loaded) of_module.unlock();
  };
  pthread_atfork(take, give, give);
}

/// Keeps a file for itself, as another program that writes for long.
class LongWriter {
 public:
  explicit LongWriter(const fs::path& file) {
    REQUIRE(sqlite3_open(file.c_str(), &db_) == SQLITE_OK);
    REQUIRE(sqlite3_exec(db_, "begin immediate", nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  ~LongWriter() { sqlite3_close(db_); }
  LongWriter(const LongWriter&) = delete;
  LongWriter& operator=(const LongWriter&) = delete;

 private:
  sqlite3* db_ = nullptr;
};

/// Of a child: whether it is let in to its parent's file, or how it is refused.
std::optional<Errc> refusal_in_child(const ConnectionString& file) {
  return refusal_of_child([&] { return thrown_by([&] { (void)open_store(file)->list(); }); }, 20);
}

/// The same of a child that a child forks.
std::optional<Errc> refusal_in_childs_child(const ConnectionString& file) {
  return refusal_of_child([&] { return refusal_in_child(file); }, 60);
}

}  // namespace

TEST_CASE("a child that opens its parent's file after everybody has closed it sees who holds",
          "[process][R16][R1][forks]") {
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  std::optional<DistributedLock> of_parent(std::in_place, file, "of the parent");
  REQUIRE(of_parent->lock_try("x"));
  const Child child({[&] { return !DistributedLock(file, "jobs").lock_try("y"); },
                     [&] { return DistributedLock(file, "jobs").lock_try("y"); }});
  of_parent.reset();
  REQUIRE_FALSE(fs::exists(fixture.file().string() + "-wal"));
  const auto holder = fixture.hold();
  CHECK(child.step() == 'y');
  holder->close_input();
  REQUIRE(holder->wait() == 0);
  CHECK(child.step() == 'y');
}

TEST_CASE("a child keeps what it opened when its parent closes the file",
          "[process][R16][R1][forks]") {
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  std::optional<DistributedLock> of_parent(std::in_place, file, "of the parent");
  REQUIRE(of_parent->lock_try("x"));
  std::optional<DistributedLock> of_child;
  const Child child({[&] { return of_child.emplace(file, "jobs").lock_try("y"); },
                     [&] { return of_child->still_held(); }});
  CHECK(child.step() == 'y');
  of_parent.reset();
  CHECK(fs::exists(fixture.file().string() + "-wal"));
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 1);
  CHECK(child.step() == 'y');
}

TEST_CASE("a parent keeps its hold and its file when its child opens the file",
          "[process][R16][R1][forks]") {
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  DistributedLock of_parent(file, "jobs");
  REQUIRE(of_parent.lock_try("x"));
  CHECK(answer_of_child([&] { return DistributedLock(file, "other").lock_try("y") ? 0 : 1; }) == 0);
  CHECK(fs::exists(fixture.file().string() + "-wal"));
  CHECK(fixture.status({"run", "-n", "jobs", "--", "true"}) == 1);
  CHECK(of_parent.still_held());
  CHECK(of_parent.unlock() == UnlockResult::released);
}

TEST_CASE("a child that closed its parent's descriptors keeps what it has by their numbers",
          "[process][R16][R1][forks]") {
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  DistributedLock of_parent(file, "of the parent");
  REQUIRE(of_parent.lock_try("x"));
  const auto closes_all_and_locks = [&] {
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    std::vector<OwnFile> own;
    for (int i = 0; i < 12; ++i) {
      own.emplace_back(fixture.file().string() + ".own" + std::to_string(i));
    }
    if (!DistributedLock(file, "jobs").lock_try("y")) return 1;
    return std::ranges::all_of(own, &OwnFile::is_as_it_was) ? 0 : 2;
  };
  CHECK(answer_of_child(closes_all_and_locks) == 0);
  CHECK(of_parent.still_held());
}

TEST_CASE("a fork waits until other threads have left SQLite", "[process][R16][forks]") {
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  BusyThreads busy;
  for (int i = 0; i < 2; ++i) busy.again([&] { (void)open_store(file)->list(); });
  CHECK(refused_of_fifty([&] { return refusal_in_child(file); }) < 25);
}

TEST_CASE("a child that is forked in the middle of a long call of SQLite is refused",
          "[process][R16][forks]") {
  const auto refusal = GENERATE(refusal_in_child, refusal_in_childs_child);
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  (void)open_store(file);
  std::optional<LongWriter> writer(fixture.file());
  boost::thread pinging([&] { (void)thrown_by([&] { (void)open_store(file)->ping("db7"); }); });
  std::optional<Errc> refused;
  while (!refused && !pinging.try_join_for(boost::chrono::seconds(0))) refused = refusal(file);
  CHECK(refused == Errc::forked);
  writer.reset();
  pinging.join();
}

TEST_CASE("a fork and a call of SQLite that wait for each other both go on",
          "[process][R16][forks]") {
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  const auto store = open_store(file);
  module_is_loaded = true;
  {
    BusyThreads busy;
    busy.again([&] {
      const std::lock_guard<std::mutex> lock(of_module);
      (void)store->list();
    });
    for (int i = 0; i < 3; ++i) CHECK(answer_of_child([] { return 0; }) == 0);
  }
  module_is_loaded = false;
}
