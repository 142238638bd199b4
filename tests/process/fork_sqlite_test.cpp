// A forked child that opens a SQLite file which its parent had open at the fork (R16).
#include <unistd.h>

#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <optional>
#include <stop_token>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "process/tool_fixture.h"
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

}  // namespace

TEST_CASE("a child that opens its parent's file after everybody has closed it sees who holds",
          "[process][R16][R1]") {
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

TEST_CASE("a child keeps what it opened when its parent closes the file", "[process][R16][R1]") {
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
          "[process][R16][R1]") {
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

TEST_CASE("a child that is forked while another thread uses SQLite is refused, and never hangs",
          "[process][R16]") {
  ToolFixture fixture;
  const ConnectionString file{"sqlite:" + fixture.file().string()};
  std::stop_source stop;
  boost::thread_group busy;
  for (int i = 0; i < 2; ++i) {
    busy.create_thread([&] {
      while (!stop.stop_requested()) (void)open_store(file)->list();
    });
  }
  int refused = 0;
  int wrong = 0;
  for (int i = 0; i < 50 && wrong == 0; ++i) {
    const int answer = answer_of_child(
        [&] { return thrown_by([&] { (void)open_store(file)->list(); }) == Errc::forked ? 7 : 0; },
        20);
    const bool was_refused = WIFEXITED(answer) && WEXITSTATUS(answer) == 7;
    refused += was_refused ? 1 : 0;
    wrong += answer != 0 && !was_refused ? 1 : 0;
  }
  stop.request_stop();
  busy.join_all();
  CHECK(wrong == 0);
  CHECK(refused > 0);
}
