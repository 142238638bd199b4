#include <glob.h>

#include <catch2/catch.hpp>
#include <ctime>
#include <fstream>

#include "process/desk.h"
#include "process/stamps.h"

using namespace std::chrono_literals;
using distlock::host_clock;
using namespace distlock::testing;
using Words = Desk::Words;

namespace {

std::string faketime_library() {
  glob_t found{};
  const int result = glob("/usr/lib/*/faketime/libfaketimeMT.so.1", 0, nullptr, &found);
  const std::string path = result == 0 ? found.gl_pathv[0] : "";
  globfree(&found);
  if (path.empty()) throw std::runtime_error("libfaketime is needed: install it (tools/setup)");
  return path;
}

enum class Jumping {
  wall_clock,   ///< Somebody sets it.
  every_clock,  ///< As far as a process can tell, the machine was suspended.
};

Words lease(Words options) {
  for (const char* word : {"--takeover-after", "2s", "--ping-every", "200ms"}) {
    options.emplace_back(word);
  }
  return options;
}

/// One SQLite file, and tools whose clock jumps while they run.
class JumpyDesk : public Desk {
 public:
  explicit JumpyDesk(Jumping jumping) : jumping_(jumping) { jump("+0"); }

  /// How far the clock is off from now on.
  void jump(const std::string& offset) {
    const auto next = folder.path() / "next_offset";
    std::ofstream(next) << offset << '\n';
    std::filesystem::rename(next, offset_file());
  }

  std::unique_ptr<ToolProcess> start_jumpy(const Words& words) const {
    auto variables = environment();
    variables["LD_PRELOAD"] = faketime_library();
    variables["FAKETIME_TIMESTAMP_FILE"] = offset_file().string();
    variables["FAKETIME_NO_CACHE"] = "1";
    if (jumping_ == Jumping::wall_clock) variables["FAKETIME_DONT_FAKE_MONOTONIC"] = "1";
    return std::make_unique<ToolProcess>(words, variables);
  }

  /// Whether the lock is busy for somebody who begins now and waits for more than the lease.
  bool busy_for_another() const {
    const auto begun = host_clock()->steady_now();
    const int status = start_jumpy(run(lease({"-w", "2500ms"}), "true"))->wait();
    CHECK(host_clock()->steady_now() - begun < 60s);
    return status == 1;
  }

 private:
  std::filesystem::path offset_file() const { return folder.path() / "offset"; }

  Jumping jumping_;
};

}  // namespace

TEST_CASE("a wall clock that jumps by hours neither ends a hold nor gives it away",
          "[process][run][R4][R9]") {
  JumpyDesk desk(Jumping::wall_clock);
  const auto holder =
      desk.start_jumpy(run(lease({}), "echo ready; read line; date +%s; echo done"));
  REQUIRE(holder->next_output() == "ready");
  const auto waiting = desk.start_jumpy(run(lease({"-w", "20h"}), "echo mine"));
  desk.jump("+5h");
  CHECK(desk.busy_for_another());
  desk.jump("-5h");
  CHECK(desk.busy_for_another());
  holder->close_input();
  // That it did jump.
  CHECK(std::stol(holder->next_output()) < time(nullptr) - 4 * 3600);
  CHECK(holder->next_output() == "done");
  CHECK(holder->wait() == 0);
  CHECK(waiting->wait() == 0);
  CHECK(waiting->rest_of_output() == "mine\n");
}

TEST_CASE("a command whose machine was suspended for hours ends before a rival's begins",
          "[process][run][R9]") {
  JumpyDesk desk(Jumping::every_clock);
  // What is in /proc is not faked: both commands write the same clock's time.
  const auto holder = desk.start_jumpy(run(lease({}), stamping("''")));
  REQUIRE_FALSE(holder->next_output().empty());
  const auto rival = desk.start_jumpy(run(lease({"-w", "20h"}), kStamp));
  CHECK(desk.busy_for_another());
  desk.jump("+10h");
  CHECK(holder->wait() == 75);
  CHECK_THAT(holder->rest_of_messages(), Catch::Contains("lost jobs while the command ran"));
  const double last = last_stamp(holder->rest_of_output());
  CHECK(rival->wait() == 0);
  CHECK(last_stamp(rival->rest_of_output()) > last);
}
