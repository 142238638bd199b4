// A /proc whose files can be read and whose list cannot, as a security module may show it (R23).
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "processes.h"
#include "support/forked_child.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

// A number that no user of a machine has.
constexpr uid_t kOrdinaryUser = 1'912'003;
constexpr int kCannotBeShown = 2;

// Each user may read it, whatever the umask.
void show_this_process_alone(const fs::path& proc) {
  const std::string id = std::to_string(getpid());
  const fs::path mounts = proc / id / "mountinfo";
  fs::create_directory(proc / id);
  fs::create_symlink(id, proc / "self");
  std::ofstream(mounts) << "25 30 0:23 / /proc rw - proc proc rw\n";
  fs::permissions(mounts, fs::perms{0444});
  fs::permissions(proc / id, fs::perms{0755});
  fs::permissions(proc, fs::perms{0111});
}

// The superuser may list any folder.
bool becomes_an_ordinary_user() {
  return geteuid() != 0 || setresuid(kOrdinaryUser, kOrdinaryUser, kOrdinaryUser) == 0;
}

}  // namespace

TEST_CASE("where the list of processes cannot be read a token may be somebody's",
          "[processes][R23][R1][forks]") {
  const TemporaryFolder proc;
  const int answer = answer_of_child([&]() noexcept {
    show_this_process_alone(proc.path());
    std::error_code error;
    const bool shown =
        becomes_an_ordinary_user() && fs::exists(proc.path() / "self" / "mountinfo", error);
    if (!shown) return kCannotBeShown;
    const std::string token = "0123456789abcdef01234567";
    return may_be_had(token, 1000s, proc.path().string()) ? 0 : 1;
  });
  fs::permissions(proc.path(), fs::perms::owner_all);
  REQUIRE(WIFEXITED(answer));
  if (WEXITSTATUS(answer) == kCannotBeShown)
    std::cout << "SKIPPED: this user cannot become others" << std::endl;
  else
    CHECK(answer == 0);
}
