#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "cli/child_process.h"
#include "cli/secrets.h"
#include "support/temporary_folder.h"

using namespace distlock::cli;

namespace {

/// While it lives, this process may write core files, into a folder that goes with it.
class CoreFiles {
 public:
  CoreFiles() {
    std::filesystem::current_path(folder_.path());
    REQUIRE(getrlimit(RLIMIT_CORE, &before_) == 0);
    const rlimit most{.rlim_cur = before_.rlim_max, .rlim_max = before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_CORE, &most) == 0);
  }
  ~CoreFiles() {
    setrlimit(RLIMIT_CORE, &before_);
    std::filesystem::current_path(work_);
  }
  CoreFiles(const CoreFiles&) = delete;
  CoreFiles& operator=(const CoreFiles&) = delete;

 private:
  std::filesystem::path work_ = std::filesystem::current_path();
  distlock::testing::TemporaryFolder folder_;
  rlimit before_{};
};

const std::string kQuit = "kill -QUIT $$";

/// How the command ended: CLD_DUMPED with a core file.
int manner_of_end(const Command& command, const Signals& signals) {
  const Keeper keeper;
  const ChildProcess child(command, signals, keeper);
  siginfo_t ended{};
  REQUIRE(waitid(P_PID, static_cast<id_t>(child.id()), &ended, WEXITED | WNOWAIT) == 0);
  CHECK(ended.si_status == SIGQUIT);
  return ended.si_code;
}

}  // namespace

// Its memory is the tool's until then, with the connection string.
TEST_CASE("a command that a signal ends before its exec leaves no core file", "[cli][child][R14]") {
  const CoreFiles allowed;
  forbid_core_files();
  signal(SIGQUIT, SIG_DFL);  // A shell ignores it for what runs in the background.
  const Signals signals;
  raise(SIGQUIT);
  CHECK(manner_of_end({.words = {"true"}, .environment = {}}, signals) == CLD_KILLED);
}

TEST_CASE("a command that a signal ends leaves a core file as it would without us",
          "[cli][child]") {
  const CoreFiles allowed;
  const int without_us = std::system(kQuit.c_str());
  REQUIRE(WIFSIGNALED(without_us));
  forbid_core_files();
  const Signals signals;
  CHECK(manner_of_end({.words = {"sh", "-c", kQuit}, .environment = {}}, signals) ==
        (WCOREDUMP(without_us) ? CLD_DUMPED : CLD_KILLED));
}
