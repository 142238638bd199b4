#include <catch2/catch.hpp>
#include <ctime>

#include "process/jumping_clock.h"
#include "process/stamps.h"
#include "process/tool_fixture.h"

using namespace std::chrono_literals;
using namespace distlock;
using namespace distlock::testing;
using Words = ToolFixture::Words;

namespace {

// Long enough for a slow machine to lose no hold, and short against the hours of a jump.
Words lease(Words options) {
  for (const char* word : {"--takeover-after", "60s", "--ping-every", "200ms"}) {
    options.emplace_back(word);
  }
  return options;
}

/// One SQLite file, and tools whose clock jumps while they run.
class JumpyFixture : public ToolFixture {
 public:
  explicit JumpyFixture(Jumping jumping) : clock(jumping) {}

  std::unique_ptr<ToolProcess> start_jumpy(const Words& words) const {
    return std::make_unique<ToolProcess>(words, clock.added_to(environment()));
  }

  /// Whether the lock is busy for somebody who begins now and waits for some pings.
  bool busy_for_another() const {
    const auto begun = host_clock()->steady_now();
    const int status = first_answered({"1s", "5s", "20s"}, [&](const char* limit) {
      return start_jumpy(run(lease({"-w", limit}), "true"))->wait();
    });
    CHECK(host_clock()->steady_now() - begun < 60s);
    return status == 1;
  }

  JumpingClock clock;
};

}  // namespace

TEST_CASE("a wall clock that jumps by hours neither ends a hold nor gives it away",
          "[process][run][unsanitized][R4][R9]") {
  JumpyFixture fixture(Jumping::wall_clock);
  const auto holder =
      fixture.start_jumpy(run(lease({}), "echo ready; read line; date +%s; echo done"));
  REQUIRE(holder->next_output() == "ready");
  const auto waiting = fixture.start_jumpy(run(lease({"-w", "20h"}), "echo mine"));
  fixture.clock.jump("+5h");
  CHECK(fixture.busy_for_another());
  fixture.clock.jump("-5h");
  CHECK(fixture.busy_for_another());
  holder->close_input();
  // That it did jump.
  CHECK(std::stol(holder->next_output()) < time(nullptr) - 4 * 3600);
  CHECK(holder->next_output() == "done");
  CHECK(holder->wait() == 0);
  CHECK(waiting->wait() == 0);
  CHECK(waiting->rest_of_output() == "mine\n");
}

TEST_CASE("a command whose machine was suspended for hours is ended when it wakes",
          "[process][run][unsanitized][R9]") {
  JumpyFixture fixture(Jumping::every_clock);
  // The files in /proc are not faked: both commands write the same clock's time.
  const auto holder = fixture.start_jumpy(run(lease({}), stamping("''")));
  REQUIRE_FALSE(holder->next_output().empty());
  fixture.clock.jump("+10h");
  const auto rival = fixture.start_jumpy(run(lease({"-w", "20h"}), kStamp));
  CHECK(holder->wait() == 75);
  CHECK_THAT(holder->rest_of_messages(), Catch::Contains("lost jobs while the command ran"));
  const double last = last_stamp(holder->rest_of_output());
  CHECK(rival->wait() == 0);
  // On waking the command may run until its tool does, too, and so may a rival that is quick.
  CHECK(last_stamp(rival->rest_of_output()) > last - 5);
}

TEST_CASE("a command begins also where a library sets the clocks back",
          "[process][run][unsanitized][R9]") {
  JumpyFixture fixture(Jumping::every_clock);
  // libfaketime sets every clock to the time of day: far back, all are near the beginning of 1970.
  fixture.clock.jump(std::to_string(10 - time(nullptr)));
  const auto tool = fixture.start_jumpy(run(lease({}), "echo mine"));
  CHECK(tool->wait() == 0);
  CHECK(tool->rest_of_output() == "mine\n");
}

TEST_CASE("a command begins also where the clock is a library's, with a mutex",
          "[process][run][unsanitized][R9]") {
  const ToolFixture fixture;
  auto environment = fixture.environment();
  environment["LD_PRELOAD"] = DISTLOCK_FORK_CLOCK_MODULE;
  ToolProcess tool(run({}, "echo mine"), environment);
  CHECK(tool.wait() == 0);
  CHECK(tool.rest_of_output() == "mine\n");
}
