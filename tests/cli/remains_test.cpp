#include "cli/remains.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "distlock/clock.h"
#include "processes.h"
#include "support/forked_child.h"
#include "support/leave.h"
#include "support/sleeper.h"
#include "token_of_this_process.h"

using namespace distlock::cli;

namespace {

const std::string kOfHold = token_of_this_process();

/// Ends with the test.
class Started {
 public:
  /// `group`: that it joins; 0 for one of its own.
  Started(std::vector<std::string> words, std::vector<std::string> environment,
          std::optional<pid_t> group = std::nullopt) {
    posix_spawnattr_t attributes{};
    posix_spawnattr_init(&attributes);
    if (group) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (group) posix_spawnattr_setpgroup(&attributes, *group);
    REQUIRE(posix_spawnp(&id_, words.front().c_str(), nullptr, &attributes,
                         pointers_to(words).data(), pointers_to(environment).data()) == 0);
    posix_spawnattr_destroy(&attributes);
    // Its program gets them a little later.
    while (!environment.empty() && distlock::environment_of(id_).value_or("").empty()) {
      std::this_thread::yield();
    }
  }
  ~Started() { end(); }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  pid_t id() const { return id_; }
  void end() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = -1;
  }

 private:
  static std::vector<char*> pointers_to(std::vector<std::string>& strings) {
    std::vector<char*> pointers;
    for (std::string& text : strings) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
  }

  pid_t id_ = -1;
};

bool has(const std::vector<pid_t>& all, pid_t id) {
  return std::find(all.begin(), all.end(), id) != all.end();
}

}  // namespace

TEST_CASE("a process with the token of a hold is of its command, and no longer when it has ended",
          "[cli][child][R23]") {
  Started left({"sleep", "60"}, {"A=b", "DISTLOCK_TOKEN=" + kOfHold, "C=d"});
  Remains remains(kOfHold, {});
  CHECK(has(remains.find().sure, left.id()));
  const pid_t id = left.id();
  left.end();
  CHECK_FALSE(has(remains.find().sure, id));
}

TEST_CASE("a process with another token, or with one that goes on, is of another command",
          "[cli][child][R23]") {
  const std::string variable =
      GENERATE(as<std::string>{}, "DISTLOCK_TOKEN=1" + kOfHold.substr(1),
               "XDISTLOCK_TOKEN=" + kOfHold, "DISTLOCK_TOKEN=" + kOfHold + "0");
  const Started other({"sleep", "60"}, {variable});
  const Remains::Found found = Remains(kOfHold, {.session = getsid(0)}).find();
  CHECK_FALSE(has(found.sure, other.id()));
  CHECK_FALSE(has(found.perhaps, other.id()));
}

TEST_CASE("a process without an environment that has nothing of the command is of another",
          "[cli][child][R23]") {
  const Started other({"sleep", "60"}, {});
  const Remains::Found found = Remains(kOfHold, {}).find();
  CHECK_FALSE(has(found.sure, other.id()));
  CHECK_FALSE(has(found.perhaps, other.id()));
  CHECK(has(Remains(kOfHold, {.parent = getpid()}).find().perhaps, other.id()));
}

TEST_CASE("a process without an environment may be of the command, and of its group it is",
          "[cli][child][R23]") {
  const Started left({"sleep", "60"}, {}, 0);
  const Remains::Found found = Remains(kOfHold, {.session = getsid(0)}).find();
  CHECK(has(found.perhaps, left.id()));
  CHECK_FALSE(has(found.sure, left.id()));
  CHECK(has(Remains(kOfHold, {.group = left.id()}).find().sure, left.id()));
}

TEST_CASE("a group that was gone once is of another command when its number comes back",
          "[cli][child][R23]") {
  Started leader({"sleep", "60"}, {}, 0);
  Remains remains(kOfHold, {.group = leader.id()});
  REQUIRE(has(remains.find().sure, leader.id()));
  // As long as nobody has waited for it, its group can be joined.
  kill(leader.id(), SIGKILL);
  siginfo_t ended{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(leader.id()), &ended, WEXITED | WNOWAIT) == 0);
  REQUIRE_FALSE(has(remains.find().sure, leader.id()));
  const Started other({"sleep", "60"}, {"A=b"}, leader.id());
  CHECK_FALSE(has(remains.find().sure, other.id()));
}

TEST_CASE("the children of a command's process are of the command", "[cli][child][R23]") {
  const Started left({"sh", "-c", "env -i sleep 60; true"}, {"DISTLOCK_TOKEN=" + kOfHold});
  Remains remains(kOfHold, {});
  const auto until = distlock::host_clock()->steady_now() + std::chrono::seconds{60};
  std::vector<pid_t> sure;
  while (sure.size() < 2 && distlock::host_clock()->steady_now() < until) {
    sure = remains.find().sure;
    std::this_thread::yield();
  }
  REQUIRE(sure.size() == 2);
  for (const pid_t id : sure) {
    if (id != left.id()) kill(id, SIGKILL);
  }
}

TEST_CASE("where not all processes can be seen something may be left", "[cli][child][R23]") {
  CHECK(Remains::Found{}.none());
  CHECK_FALSE(Remains::Found{.all = false}.none());
}

// Processes that outlive their parent get one by which this process is, too.
TEST_CASE("a process without an environment may be of the command if it has this one's parent",
          "[cli][child][R23]") {
  const auto found_beside_it = [] {
    const pid_t keeper = fork();
    if (keeper == 0) {
      Remains remains(kOfHold, {});
      const auto until = distlock::host_clock()->steady_now() + std::chrono::seconds{20};
      while (remains.find().perhaps.empty() && distlock::host_clock()->steady_now() < until)
        std::this_thread::yield();
      distlock::testing::leave(remains.find().perhaps.empty() ? 1 : 0);
    }
    const pid_t orphan = distlock::testing::sleeper();
    int status = -1;
    waitpid(keeper, &status, 0);
    kill(orphan, SIGKILL);
    waitpid(orphan, nullptr, 0);
    return status == 0 ? 0 : 1;
  };
  CHECK(distlock::testing::answer_of_child(found_beside_it) == 0);
}
