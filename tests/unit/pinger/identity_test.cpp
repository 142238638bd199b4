// The ids and tokens of a process, and what they are made of.
#include "pinger/identity.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "support/fleet.h"
#include "support/forked_child.h"
#include "support/thrown.h"
#include "thread_number.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

/// A process whose clock stands at 0x66FF3D10 s, and whose random number is chosen.
struct Identified {
  Identified() {
    clock->set_wall_off(0x66FF3D10 * 1s - 480001h + 999ms);
    environment.random = [this] { return number; };
  }

  std::uint64_t number = 0x1122334455667788;
  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>();
  Environment environment{.store = make_memory_store(clock), .clock = clock};
};

Environment of_the_system() {
  return completed({.store = make_memory_store(std::make_shared<ManualClock>())});
}

}  // namespace

TEST_CASE("a token is the seconds of the clock and 64 random bits", "[pinger][R1]") {
  Identified it;
  CHECK(to_hex(new_token(it.environment)) == "66ff3d101122334455667788");
  it.number = 0;
  it.clock->advance(1ms);
  CHECK(to_hex(new_token(it.environment)) == "66ff3d110000000000000000");
}

TEST_CASE("a process id is the host, the seconds of the clock and 64 random bits", "[pinger][R1]") {
  Identified it;
  CHECK(new_process(it.environment, "db7") == "db7:1728003344:1122334455667788");
  it.number = ~std::uint64_t{0};
  CHECK(new_process(it.environment, "db7") == "db7:1728003344:ffffffffffffffff");
}

TEST_CASE("a contender is named by its process, its thread and 31 random bits", "[pinger]") {
  Identified it;
  it.environment.process = "db7";
  const std::string thread = ":thread" + std::to_string(this_thread_number());
  CHECK(name_of_thread(it.environment, 12) == "db7:thread12");
  CHECK(this_thread_of(it.environment) == "db7" + thread);
  it.number = ~std::uint64_t{0};
  CHECK(new_who(it.environment) == "db7" + thread + ":2147483647");
  it.environment.label = "pid12/ann";
  CHECK(name_of_thread(it.environment, 12) == "db7:thread12/pid12/ann");
  it.number = std::uint64_t{1} << 33U;
  CHECK(new_who(it.environment) == "db7" + thread + "/pid12/ann:1");
}

TEST_CASE("a process that is not named by its maker has its host's name and a label", "[pinger]") {
  Identified it;
  const Environment made = completed(it.environment);
  std::array<char, 256> host{};
  REQUIRE(gethostname(host.data(), host.size()) == 0);
  CHECK(made.process == std::string(host.data()) + ":1728003344:1122334455667788");
  const passwd* const user = getpwuid(geteuid());
  const std::string name = user != nullptr ? user->pw_name : std::to_string(geteuid());
  CHECK(made.label == "pid" + std::to_string(getpid()) + '/' + name);
  it.environment.label = "its own";
  CHECK(completed(it.environment).label == "its own");
  it.environment.process = "db7";
  CHECK(completed(it.environment).process == "db7");
  CHECK(completed(it.environment).clock == it.clock);
}

TEST_CASE("a process that its maker does not name knows the holds of the runs around it",
          "[pinger][R22]") {
  Identified it;
  const std::string hold = "ab0102030405060708090a0b";
  setenv("DISTLOCK_TOKEN", hold.c_str(), 1);
  setenv("DISTLOCK_OUTER_TOKENS", ("no token,," + hold + ",ab").c_str(), 1);
  const std::vector<Token> read = completed(it.environment).outer_holds;
  it.environment.outer_holds = {Token{{1}}};
  const std::vector<Token> given = completed(it.environment).outer_holds;
  it.environment.outer_holds.clear();
  it.environment.process = "db7";
  const std::vector<Token> of_named = completed(it.environment).outer_holds;
  unsetenv("DISTLOCK_TOKEN");
  unsetenv("DISTLOCK_OUTER_TOKENS");
  const Token token = *token_from_hex(hold);
  CHECK(read == std::vector<Token>{token, token});
  CHECK(given == std::vector<Token>{Token{{1}}});
  CHECK(of_named.empty());
}

TEST_CASE("the random numbers of a process differ, however many it draws", "[pinger][R1]") {
  const Environment environment = of_the_system();
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 200; ++i) drawn.insert(environment.random());
  CHECK(drawn.size() == 200);
  CHECK(drawn.count(0) == 0);
}

TEST_CASE("a forked child does not draw its parent's random numbers", "[pinger][R1][R16]") {
  const Environment environment = of_the_system();
  const auto some_bits = [&] { return static_cast<int>(environment.random() % 128); };
  static_cast<void>(some_bits());
  int equal = 0;  // Now and then by chance.
  for (int i = 0; i < 10; ++i) {
    const int answer = answer_of_child(some_bits);
    REQUIRE(WIFEXITED(answer));
    const int of_child = WEXITSTATUS(answer);
    equal += of_child == some_bits() ? 1 : 0;
  }
  CHECK(equal < 10);
}

TEST_CASE("a pinger without a store is refused before anything else is made up",
          "[pinger][input]") {
  CHECK(thrown_by([] { return completed({}); }) == Errc::invalid_argument);
}

TEST_CASE("a label that would spoil the documents is refused, as a process id is",
          "[pinger][input][R14]") {
  const std::string label =
      GENERATE(as<std::string>{}, "\xe9t\xe9", std::string("a\0b", 3), std::string(1001, 'x'));
  const Environment environment{.store = make_memory_store(), .process = "a:1:1", .label = label};
  try {
    completed(environment);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_argument);
    CHECK_THAT(error.what(), Catch::StartsWith("label "));
  }
}
